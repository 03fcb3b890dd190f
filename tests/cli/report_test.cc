#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace refit {
namespace {

using Json = nlohmann::ordered_json;

Json data_of(const std::string& page) {
  const std::string begin = "id=\"data\">";
  const std::size_t at = page.find(begin) + begin.size();
  return Json::parse(page.substr(at, page.find("</script>", at) - at));
}

TEST_CASE("report: the page has the numbers of simulate, and is the same again", "[cli][page]") {
  const Folder folder;
  const std::string scenario = folder.write("four.yaml", kScenario);
  const std::string path = folder / "page.html";
  const Outcome outcome = refit_program({"report", scenario, "-o", path});
  REQUIRE(outcome.code == 0);
  CHECK(outcome.out.empty());
  const std::string page = text_of(path);
  const Json data = data_of(page);
  const Outcome simulated = refit_program({"simulate", scenario, "--memory", "--json"});
  CHECK(data["prediction"] == Json::parse(simulated.out));
  CHECK(data["scenario_text"] == kScenario);
  REQUIRE(data["plans"].size() == 5);
  for (std::size_t i = 0; i < 5; ++i)
    CHECK(data["plans"][i]["strategy"] == data["prediction"]["strategies"][i]["strategy"]);
  CHECK(refit_program({"report", scenario, "-o", "-"}).out == page);
}

TEST_CASE("report: shows what auto takes, and of a plan the plan", "[cli][page]") {
  const Folder folder;
  const std::string scenario = folder.write("four.yaml", kScenario);
  const Json chosen =
      data_of(refit_program({"report", scenario, "--strategy", "auto", "-o", "-"}).out);
  const auto shown = chosen["shown"].get<std::size_t>();
  CHECK(chosen["prediction"]["strategies"][shown]["strategy"] ==
        chosen["prediction"]["chosen"]["strategy"]);

  const std::string plan = folder / "plan.json";
  REQUIRE(refit_program({"plan", scenario, "--strategy", "direct", "-o", plan}).code == 0);
  const Json of_plan = data_of(refit_program({"report", plan, "-o", "-"}).out);
  REQUIRE(of_plan["plans"].size() == 1);
  CHECK(of_plan["plans"][0]["strategy"] == "direct");
  CHECK(of_plan["scenario_text"] == kScenario);
}

TEST_CASE("report: first-order sensitivities follow from the seconds by constant", "[cli][page]") {
  const Folder folder;
  const std::string scenario = folder.write("four.yaml", kScenario);
  const Json data =
      data_of(refit_program({"report", scenario, "--strategy", "reshard", "-o", "-"}).out);
  const Json& seconds = data["prediction"]["strategies"][0]["seconds_by_constant"];
  REQUIRE(data["sensitivities"][0].size() == seconds.size());
  for (const Json& line : data["sensitivities"][0]) {
    const double s = seconds[line["constant"].get<std::string>()];
    // A rate 10 % higher takes 1/1.1 of the time, a cost 10 % lower 0.9 of it.
    const double factor = line["change"] == "+10 %" ? 1 - 1 / 1.1 : 0.1;
    CHECK(line["delta_s"].get<double>() == Approx(-s * factor));
  }
}

TEST_CASE("report: what larger machines are worth is what simulate says", "[cli][page]") {
  const Folder folder;
  const std::string scenario = folder.write("four.yaml", kScenario);
  const Json data =
      data_of(refit_program({"report", scenario, "--strategy", "reshard", "-o", "-"}).out);
  const Json simulated = Json::parse(
      refit_program({"simulate", scenario, "--strategy", "reshard", "--sensitivity", "--json"})
          .out);
  CHECK(data["what_ifs"] == simulated["sensitivity"]);
  CHECK(data["what_ifs"][0]["what_ifs"][0]["change"] == "NICs +100 Gbit/s");
  const Json without = data_of(
      refit_program({"report", scenario, "--strategy", "reshard", "--no-what-ifs", "-o", "-"}).out);
  CHECK(without["what_ifs"].empty());
}

TEST_CASE("report: 4,096 GPUs fit in a page of less than 5 MB", "[cli][page]") {
  const Outcome outcome =
      refit_program({"report", REFIT_SOURCE_DIR "/scenarios/published/kimi_k3.yaml", "--strategy",
                     "reshard", "--no-what-ifs", "-o", "-"});
  REQUIRE(outcome.code == 0);
  // Five strategies are to fit: the page without plans, and five times what one of them takes.
  const Json data = data_of(outcome.out);
  const std::size_t plan = data["plans"][0].dump().size();
  CHECK(outcome.out.size() + 4 * plan < 5'000'000);
  CHECK(data["machines"]["ranks"] == 4096);
  CHECK(data["plans"][0]["timeline"]["groups"].size() <= 64);
}

TEST_CASE("report: refuses a strategy for a plan, and to write over its input", "[cli][page]") {
  const Folder folder;
  const std::string scenario = folder.write("four.yaml", kScenario);
  CHECK(refit_program({"report", scenario, "-o", scenario}).code == 2);
  CHECK(refit_program({"report", scenario}).code == 2);
  const std::string plan = folder / "plan.json";
  REQUIRE(refit_program({"plan", scenario, "--strategy", "direct", "-o", plan}).code == 0);
  const Outcome outcome = refit_program({"report", plan, "--strategy", "direct", "-o", "-"});
  CHECK(outcome.code == 2);
  CHECK(has(outcome.err, "is a direct plan; --strategy is for scenarios"));
}

TEST_CASE("report: of the results of a sweep it is a page of plots", "[cli][page][sweep]") {
  const Folder folder;
  const std::string scenario = folder.write("base.yaml", kScenario);
  const std::string sweep = folder.write(
      "nics.yaml",
      "sweep: nics\nbase: base.yaml\nvary:\n  cluster.nic_bandwidth: [200 Gbit/s, 400 Gbit/s]\n");
  const std::string csv = folder / "nics.csv", page = folder / "nics.html";
  REQUIRE(refit_program({"sweep", sweep, "-o", csv}).code == 0);
  REQUIRE(refit_program({"report", csv, "-o", page}).code == 0);
  const std::string text = text_of(page);
  CHECK(has(text, "<h1>nics</h1>"));
  CHECK(has(text, "The fastest that fits is point 1, "));
  CHECK(data_of(text)["fields"][0]["words"].dump() == R"(["200 Gbit/s","400 Gbit/s"])");

  // Neither over its input, nor with what is another question's.
  CHECK(refit_program({"report", csv, "-o", csv}).code == 2);
  const Outcome outcome = refit_program({"report", csv, "--strategy", "direct", "-o", page});
  CHECK(outcome.code == 2);
  CHECK(has(outcome.err, "is the result of a sweep; --strategy is for scenarios"));
}

}  // namespace
}  // namespace refit
