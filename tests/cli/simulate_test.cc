#include <algorithm>

#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace refit {
namespace {

nlohmann::json simulated(const std::vector<std::string>& arguments) {
  std::vector<std::string> all{"simulate", "--json"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  const Outcome outcome = refit_program(all);
  CAPTURE(outcome.err);
  REQUIRE(outcome.code == 0);
  CHECK(outcome.err.empty());
  return nlohmann::json::parse(outcome.out);
}

std::vector<std::string> names_of(const nlohmann::json& document) {
  std::vector<std::string> names;
  for (const nlohmann::json& row : document.at("strategies")) names.push_back(row.at("strategy"));
  return names;
}

TEST_CASE("simulate shows the five strategies in a fixed order", "[cli][simulate]") {
  const Folder folder;
  const nlohmann::json document = simulated({folder.write("four.yaml", kScenario)});
  CHECK(document.at("schema") == "refit.prediction/1");
  CHECK(document.at("scenario") == "four_pairs");
  CHECK(names_of(document) ==
        std::vector<std::string>{"gather_broadcast", "direct", "reshard", "hybrid", "optimal"});
  CHECK_FALSE(document.contains("chosen"));
}

TEST_CASE("the byte columns follow from the layouts", "[cli][simulate]") {
  const Folder folder;
  const nlohmann::json document = simulated(
      {folder.write("four.yaml", kScenario), "--strategy", "direct,reshard", "--wire-only"});
  const nlohmann::json& direct = document.at("strategies").at(0);
  const nlohmann::json& reshard = document.at("strategies").at(1);
  for (const nlohmann::json* row : {&direct, &reshard}) {
    CHECK(row->at("unique_bytes") == 64'000'000);
    CHECK(row->at("payload_bytes") == 128'000'000);  // 4 GPUs x 32 MB
    // A destination domain takes 32 MB through two NICs of 10 GB/s: 1.6 ms.
    CHECK(row->at("bound_s").get<double>() == Approx(1.6e-3));
    CHECK(row->at("predicted_s").get<double>() >= row->at("bound_s").get<double>() * (1 - 1e-9));
  }
  CHECK(direct.at("network_bytes") == 128'000'000);  // to each GPU
  CHECK(direct.at("network_copies") == 2);
  CHECK(reshard.at("network_bytes") == 64'000'000);  // to each domain
  CHECK(reshard.at("network_copies") == 1);
  CHECK(reshard.at("nvlink_bytes").get<double>() >= 64e6);  // handed on inside
}

TEST_CASE("the table says what its numbers are and why copies differ", "[cli][simulate]") {
  const Folder folder;
  const Outcome outcome = refit_program({"simulate", folder.write("four.yaml", kScenario)});
  REQUIRE(outcome.code == 0);
  CAPTURE(outcome.out);
  CHECK(has(outcome.out, "scenario     four_pairs\n"));
  CHECK(has(outcome.out, "model        none; 1 tensor written out\n"));
  CHECK(has(outcome.out, "cluster      4 x pair: 2 GPUs in NVLink domains of 2 (100.00 GB/s)"));
  CHECK(has(outcome.out, "assumes      NICs reach line rate\n"));
  CHECK(has(outcome.out, "unique       64.00 MB"));
  CHECK(has(outcome.out, "direct sends 2.00 copies of the weights"));
  CHECK(has(outcome.out, "reshard sends 1.00"));
  CHECK(has(outcome.out, "network model default"));
  CHECK(has(outcome.out, "Nothing here was measured"));
}

TEST_CASE("equal questions give equal bytes", "[cli][simulate]") {
  const Folder folder;
  const std::string scenario = folder.write("four.yaml", kScenario);
  CHECK(simulated({scenario}).dump() == simulated({scenario}).dump());
  const Outcome printed = refit_program({"simulate", scenario});
  REQUIRE(refit_program({"simulate", scenario, "-o", folder / "x.txt"}).code == 0);
  CHECK(text_of(folder / "x.txt") == printed.out);
}

TEST_CASE("memory by ranks is shown if it is asked for", "[cli][simulate]") {
  const Folder folder;
  const std::string file = folder.write("four.yaml", kScenario);
  const nlohmann::json without = simulated({file, "--strategy", "direct"});
  CHECK_FALSE(without.at("strategies")[0].at("memory").contains("by_class"));

  const nlohmann::json document = simulated({file, "--strategy", "direct", "--memory"});
  const nlohmann::json& row = document.at("strategies")[0];
  const nlohmann::json& memory = row.at("memory").at("by_class");
  CHECK(memory.at("step_s").get<double>() * 32 == Approx(row.at("predicted_s").get<double>()));
  double most = 0;
  for (const nlohmann::json& c : memory.at("classes")) {
    most = std::max(most, c.at("peak_bytes").get<double>());
    CHECK(c.at("curve").begin()->size() == 32);
  }
  CHECK(most == row.at("memory").at("peak_bytes"));

  const Outcome table = refit_program({"simulate", file, "--strategy", "direct", "--memory"});
  REQUIRE(table.code == 0);
  CHECK(table.out.find("\nmemory of direct, by ranks that hold as much\nranks") !=
        std::string::npos);
}

TEST_CASE("both solvers predict the same", "[cli][simulate]") {
  const Folder folder;
  const std::string scenario = folder.write("four.yaml", kScenario);
  const nlohmann::json ours = simulated({scenario, "--solver", "incremental"});
  const nlohmann::json native = simulated({scenario, "--solver", "native"});
  CHECK(ours.at("solver") == "incremental");
  CHECK(native.at("solver") == "native");
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(ours["strategies"][i]["predicted_s"].get<double>() ==
          Approx(native["strategies"][i]["predicted_s"].get<double>()));
  }
}

TEST_CASE("the network model can be left out, named, or read from a file", "[cli][simulate]") {
  const Folder folder;
  const std::string scenario = folder.write("four.yaml", kScenario);
  const nlohmann::json wire = simulated({scenario, "--wire-only"});
  const nlohmann::json named = simulated({scenario, "--network-model", "default"});
  CHECK(named.at("network_model") == "default");
  CHECK(wire.at("network_model") != "default");
  const Outcome unknown = refit_program({"simulate", scenario, "--network-model", "magic"});
  CHECK(unknown.code == 2);
  CHECK(has(unknown.err, "--network-model: 'magic' is neither a file nor one of "));
  CHECK(refit_program({"simulate", scenario, "--network-model", folder / "none.yaml"}).code == 3);
}

TEST_CASE("the scenario's own policy is a row of its own", "[cli][simulate]") {
  const Folder folder;
  const std::string scenario =
      folder.write("own.yaml", std::string(kScenario) + "plan: {policy: {rest: direct}}\n");
  const nlohmann::json document = simulated({scenario});
  REQUIRE(names_of(document).size() == 6);
  CHECK(names_of(document).back() == "policy");
  // It says direct for everything, so it moves what direct moves.
  CHECK(document["strategies"][5]["network_bytes"] == document["strategies"][1]["network_bytes"]);
  CHECK(names_of(simulated({scenario, "--strategy", "policy"})) ==
        std::vector<std::string>{"policy"});
}

TEST_CASE("each row is certified against the bound", "[cli][simulate]") {
  const Folder folder;
  const std::string scenario = folder.write("four.yaml", kScenario);
  const nlohmann::json all = simulated({scenario});
  const nlohmann::json wire = simulated({scenario, "--wire-only"});
  for (std::size_t i = 0; i < all["strategies"].size(); ++i) {
    const nlohmann::json& row = all["strategies"][i];
    const nlohmann::json& certificate = row.at("certificate");
    CAPTURE(row.at("strategy"));
    // The same simulation, asked for beside another or alone.
    CHECK(certificate.at("wire_s") == wire["strategies"][i].at("predicted_s"));
    CHECK(certificate == wire["strategies"][i].at("certificate"));
    CHECK(row.at("predicted_s").get<double>() > certificate.at("wire_s").get<double>());
    CHECK(certificate.at("plan").get<std::string>().size() == 16);
    // A NIC's 5 us x 400: 2 ms are more than the bound of 1.6 ms.
    CHECK(certificate.at("latency_s") == 5e-6);
    CHECK(certificate.at("levels") == 1);
    CHECK(certificate.at("latency_dominates") == true);
    CHECK(certificate.at("ratio").is_null());
  }
  const Outcome printed = refit_program({"simulate", scenario, "--strategy", "direct"});
  CHECK(has(printed.out, "\ncertificate direct: wire-only "));
  CHECK(has(printed.out, "no ratio: latency dominates where the bound is under 2.00 ms; chunk "));

  // Ten times the bytes: 16 ms.
  std::string larger = kScenario;
  larger.replace(larger.find("[8000, 8000]"), 12, "[80000, 8000]");
  const nlohmann::json row =
      simulated({folder.write("larger.yaml", larger), "--strategy", "optimal"})["strategies"][0];
  CHECK(row.at("bound_s").get<double>() == Approx(16e-3));
  CHECK(row.at("certificate").at("ratio").get<double>() ==
        Approx(row.at("certificate").at("wire_s").get<double>() / 16e-3));
}

TEST_CASE("an ensemble has a mean and a spread, the same by however many workers",
          "[cli][simulate][ensemble]") {
  const Folder folder;
  const std::string file = folder.write("four.yaml", kScenario);
  const nlohmann::json both =
      simulated({file, "--strategy", "direct,reshard", "--wire-only", "--ensemble", "6"});
  for (const nlohmann::json& row : both.at("strategies")) {
    const nlohmann::json& ensemble = row.at("ensemble");
    CHECK(ensemble.at("members") == 6);
    CHECK(ensemble.at("least_s") < ensemble.at("mean_s"));
    CHECK(ensemble.at("mean_s") < ensemble.at("most_s"));
    // Sizes differ by 0.1 %, starts by 10 us.
    CHECK(ensemble.at("mean_s").get<double>() ==
          Approx(row.at("predicted_s").get<double>()).epsilon(1e-3).margin(1e-5));
  }
  const nlohmann::json alone =
      simulated({file, "--strategy", "direct", "--wire-only", "--ensemble", "6"});
  CHECK(alone.at("strategies").at(0).at("ensemble") == both.at("strategies").at(0).at("ensemble"));
  CHECK(refit_program({"simulate", file, "--ensemble", "1"}).code == 2);
}

TEST_CASE("a saved plan keeps its hash", "[cli][simulate]") {
  const Folder folder;
  const std::string scenario = folder.write("four.yaml", kScenario);
  const std::string plan = folder / "plan.json";
  const Outcome planned = refit_program({"plan", scenario, "--strategy", "optimal", "-o", plan});
  REQUIRE(planned.code == 0);
  const std::string hash = simulated({plan})["strategies"][0]["certificate"]["plan"];
  CHECK(simulated({scenario, "--strategy", "optimal"})["strategies"][0]["certificate"]["plan"] ==
        hash);
  CHECK(has(planned.out, "bound 1.60 ms, set by "));
  CHECK(has(planned.out, "plan " + hash + "\n"));
}

TEST_CASE("auto shows all candidates, takes one and says why", "[cli][simulate][auto]") {
  const Folder folder;
  const std::string scenario = folder.write("four.yaml", kScenario);
  const nlohmann::json document = simulated({scenario, "--strategy", "auto"});
  CHECK(names_of(document) ==
        std::vector<std::string>{"reshard", "direct", "hybrid", "gather_broadcast", "optimal"});
  const std::string chosen = document.at("chosen").at("strategy");
  const std::string reason = document.at("chosen").at("reason");
  CHECK(std::count(reason.begin(), reason.end(), '\n') == 1);
  // Nothing is more than 5 % faster than what was chosen.
  double least = 1e9, taken = 0;
  for (const nlohmann::json& row : document.at("strategies")) {
    const double seconds = row.at("predicted_s").get<double>();
    least = std::min(least, seconds);
    if (row.at("strategy") == chosen) taken = seconds;
  }
  CHECK(taken <= 1.05 * least);
  CHECK(simulated({scenario, "--strategy", "auto"}).dump() == document.dump());
  const Outcome printed = refit_program({"simulate", scenario, "--strategy", "auto"});
  CHECK(has(printed.out, "\nauto        takes " + chosen + ": "));

  const std::string own =
      folder.write("own.yaml", std::string(kScenario) + "plan: {policy: {rest: direct}}\n");
  CHECK(names_of(simulated({own, "--strategy", "auto"})).back() == "policy");
  const Outcome both = refit_program({"simulate", scenario, "--strategy", "reshard,auto"});
  CHECK(both.code == 2);
  CHECK(both.err == "refit: --strategy: auto chooses among all, so it stands alone\n");
}

TEST_CASE("plan, graph, run and check take what auto chooses", "[cli][auto]") {
  const Folder folder;
  const std::string scenario = folder.write("four.yaml", kScenario);
  const nlohmann::json document = simulated({scenario, "--strategy", "auto"});
  const std::string chosen = document.at("chosen").at("strategy");
  const std::string said = "refit: auto takes " + chosen + ": " +
                           document.at("chosen").at("reason").get<std::string>() + "\n";
  const std::string plan = folder / "plan.json";
  const Outcome planned = refit_program({"plan", scenario, "--strategy", "auto", "-o", plan});
  CHECK(planned.code == 0);
  CHECK(planned.err == said);
  CHECK(has(planned.out, "four_pairs: " + chosen + " plan, verified\n"));
  const nlohmann::json saved = simulated({plan});
  CHECK(names_of(saved) == std::vector<std::string>{chosen});

  const Outcome graph = refit_program({"graph", scenario, "--strategy", "auto"});
  CHECK(graph.code == 0);
  CHECK(graph.err == said);
  CHECK(graph.out == refit_program({"graph", scenario, "--strategy", chosen}).out);

  const Outcome run =
      refit_program({"run", scenario, "--strategy", "auto", "--json", "-n", "1", "-w", "0"});
  CHECK(run.code == 0);
  CHECK(run.err == said);
  CHECK(nlohmann::json::parse(run.out).at("strategy") == chosen);

  const Outcome check = refit_program({"check", scenario, "--strategy", "auto"});
  CHECK(check.code == 0);
  CHECK(check.err == said);
  CHECK(check.out == "four_pairs: correct (1 plan verified)\n");
}

TEST_CASE("limits are kept by optimal at a price, and others are told", "[cli][simulate]") {
  const Folder folder;
  const std::string scenario = folder.write("four.yaml", kScenario);
  const Outcome outcome =
      refit_program({"simulate", scenario, "--strategy", "direct,optimal", "--limit",
                     "nic_bandwidth=5 GB/s", "--limit", "communicators=1"});
  REQUIRE(outcome.code == 0);
  CHECK(has(outcome.out, "limits      optimal: "));
  CHECK(has(outcome.out, "price of the limits: "));
  CHECK(has(outcome.out, "limits      direct: "));

  const Outcome refused = refit_program({"simulate", scenario, "--limit", "speed=5"});
  CHECK(refused.code == 2);
  CHECK(has(refused.err, "unknown key 'speed'"));
  const Outcome none = refit_program({"simulate", scenario, "--limit", "extra_memory=1 B"});
  CHECK(none.code == 2);
  CHECK(has(none.err, "optimal: no plan keeps the limits; the nearest takes extra memory "));

  // `auto` takes another where `optimal` has no plan, and says so where nobody has one.
  const Outcome others =
      refit_program({"simulate", scenario, "--strategy", "auto", "--limit", "ops=1"});
  CHECK(others.code == 0);
  CHECK(has(others.out, "takes direct: "));
  CHECK_FALSE(has(others.out, "optimal"));
  const Outcome nobody =
      refit_program({"simulate", scenario, "--strategy", "auto", "--limit", "extra_memory=1 B"});
  CHECK(nobody.code == 2);
  CHECK(has(nobody.err, "no strategy keeps the limits"));
}

}  // namespace
}  // namespace refit
