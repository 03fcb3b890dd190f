#include <graphviz/cgraph.h>

#include <nlohmann/json.hpp>

#include "schedule/schedule_json.h"
#include "tests/cli/program.h"

namespace refit {
namespace {

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

TEST_CASE("check proves all strategies of a scenario", "[cli][check]") {
  const Folder folder;
  const Outcome outcome = refit_program({"check", folder.write("four.yaml", kScenario)});
  CHECK(outcome.code == 0);
  CHECK(outcome.out == "four_pairs: correct (5 plans verified)\n");
  CHECK(outcome.err.empty());
}

TEST_CASE("plan prints a summary and writes a plan that reads back", "[cli][plan]") {
  const Folder folder;
  const std::string scenario = folder.write("four.yaml", kScenario);
  const Outcome outcome = refit_program({"plan", scenario, "-o", folder / "plan.json"});
  REQUIRE(outcome.code == 0);
  CHECK(has(outcome.out, "four_pairs: reshard plan, verified\n8 ranks, "));
  CHECK(folder.files() == 2);
  const std::string text = text_of(folder / "plan.json");
  const SavedSchedule saved = read_schedule(text, "plan.json");
  CHECK(saved.scenario_name == "four_pairs");
  CHECK(saved.scenario_text == kScenario);
  CHECK(saved.schedule.ranks == 8);
  CHECK(nlohmann::json::parse(text).at("schema") == "refit.schedule/1");
}

TEST_CASE("equal questions give equal plans, to a file or to standard output", "[cli][plan]") {
  const Folder folder;
  const std::string scenario = folder.write("four.yaml", kScenario);
  for (const char* strategy : {"gather_broadcast", "direct", "reshard", "hybrid", "optimal"}) {
    CAPTURE(strategy);
    const Outcome first = refit_program({"plan", scenario, "--strategy", strategy, "-o", "-"});
    const Outcome second =
        refit_program({"plan", scenario, "--strategy", strategy, "-o", folder / "plan.json"});
    REQUIRE(first.code == 0);
    REQUIRE(second.code == 0);
    CHECK(first.out == text_of(folder / "plan.json"));
  }
}

TEST_CASE("a saved plan can be checked, simulated and drawn alone", "[cli][plan]") {
  const Folder folder;
  const std::string scenario = folder.write("four.yaml", kScenario);
  const std::string plan = folder / "plan.json";
  REQUIRE(refit_program({"plan", scenario, "--strategy", "direct", "-o", plan}).code == 0);
  std::filesystem::remove(scenario);
  CHECK(refit_program({"check", plan}).out == "four_pairs: correct (1 plan verified)\n");
  CHECK(refit_program({"graph", plan}).code == 0);
  const Outcome outcome = refit_program({"simulate", plan, "--json"});
  REQUIRE(outcome.code == 0);
  const nlohmann::json document = nlohmann::json::parse(outcome.out);
  REQUIRE(document.at("strategies").size() == 1);
  CHECK(document["strategies"][0].at("strategy") == "direct");
  CHECK(refit_program({"simulate", plan, "--strategy", "direct"}).code == 2);
}

TEST_CASE("a plan that is wrong fails its check and is not simulated", "[cli][plan]") {
  const Folder folder;
  const std::string scenario = folder.write("four.yaml", kScenario);
  const Outcome written = refit_program({"plan", scenario, "--strategy", "direct", "-o", "-"});
  REQUIRE(written.code == 0);
  // Without its ops a plan delivers nothing.
  SavedSchedule saved = read_schedule(written.out, "plan.json");
  saved.schedule.ops.clear();
  saved.schedule.after.clear();
  std::ostringstream text;
  write_schedule(text, saved);
  const std::string plan = folder.write("plan.json", text.str());
  const Outcome check = refit_program({"check", plan});
  CHECK(check.code == 1);
  CHECK(has(check.out, "direct: "));
  CHECK(has(check.out, "four_pairs: not correct (1 of 1 plan failed)\n"));
  const Outcome simulate = refit_program({"simulate", plan});
  CHECK(simulate.code == 1);
  CHECK(simulate.out.empty());
  CHECK(has(simulate.err, "refit: four_pairs: the direct plan is not correct:\n"));
  CHECK(refit_program({"graph", plan}).code == 1);
}

TEST_CASE("a damaged plan exits with 2 and names file and place", "[cli][plan]") {
  const Folder folder;
  const std::string scenario = folder.write("four.yaml", kScenario);
  const std::string text = refit_program({"plan", scenario, "-o", "-"}).out;
  const Outcome ranks = refit_program(
      {"simulate", folder.write("a.json", replaced(text, "\"ranks\": 8", "\"ranks\": 9"))});
  CHECK(ranks.code == 2);
  CHECK(has(ranks.err, "a.json: ranks: 9 do not fit its scenario, which has 8"));
  const Outcome cut =
      refit_program({"simulate", folder.write("b.json", text.substr(0, text.size() / 2))});
  CHECK(cut.code == 2);
  CHECK(has(cut.err, "b.json:"));
  const Outcome version = refit_program(
      {"simulate", folder.write("c.json", replaced(text, "schedule/1", "schedule/7"))});
  CHECK(version.code == 2);
  CHECK(has(version.err, "refit.schedule/7"));
}

TEST_CASE("output that cannot be written exits with 3 and leaves nothing", "[cli][plan]") {
  const Folder folder;
  const std::string scenario = folder.write("four.yaml", kScenario);
  CHECK(refit_program({"plan", scenario, "-o", "/dev/full"}).code == 3);
  CHECK(refit_program({"plan", scenario, "-o", "-"}, {}, "/dev/full").code == 3);
  const Outcome outcome = refit_program({"simulate", scenario, "-o", folder / "none/x.txt"});
  CHECK(outcome.code == 3);
  CHECK(has(outcome.err, "none/x.txt: cannot be written: No such file or directory"));
  CHECK(folder.files() == 1);
}

TEST_CASE("graph draws a plan that the library reads back", "[cli][graph]") {
  const Folder folder;
  const std::string scenario = folder.write("four.yaml", kScenario);
  for (const char* strategy : {"direct", "reshard", "gather_broadcast", "hybrid", "optimal"}) {
    CAPTURE(strategy);
    const Outcome outcome = refit_program({"graph", scenario, "--strategy", strategy});
    REQUIRE(outcome.code == 0);
    Agraph_t* graph = agmemread(outcome.out.c_str());
    REQUIRE(graph != nullptr);
    CHECK(agnnodes(graph) >= 8);
    CHECK(agnsubg(graph) == 4);
    CHECK(agnedges(graph) >= 4);
    agclose(graph);
  }
  const Outcome domains =
      refit_program({"graph", scenario, "--level", "domains", "-o", folder / "x.dot"});
  REQUIRE(domains.code == 0);
  CHECK(domains.out.empty());
  Agraph_t* graph = agmemread(text_of(folder / "x.dot").c_str());
  REQUIRE(graph != nullptr);
  CHECK(agnnodes(graph) == 4);
  agclose(graph);
}

TEST_CASE("SVG comes from the dot program, and its absence is said", "[cli][graph]") {
  const Folder folder;
  const std::string scenario = folder.write("four.yaml", kScenario);
  const Outcome absent =
      refit_program({"graph", scenario, "-o", folder / "x.svg"}, {"PATH=" + folder / "empty"});
  CHECK(absent.code == 3);
  CHECK(has(absent.err, "x.svg: SVG needs the program 'dot' of Graphviz"));
  CHECK_FALSE(std::filesystem::exists(folder / "x.svg"));
  if (std::system("dot -V >/dev/null 2>&1") != 0) return;
  // A name that a shell would run.
  const std::string path = folder / "x;touch y.svg";
  REQUIRE(refit_program({"graph", scenario, "-o", path}).code == 0);
  CHECK(has(text_of(path), "<svg"));
  CHECK_FALSE(std::filesystem::exists(folder / "y.svg"));
}

}  // namespace
}  // namespace refit
