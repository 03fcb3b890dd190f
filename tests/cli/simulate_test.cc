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

TEST_CASE("simulate shows the four strategies in a fixed order", "[cli][simulate]") {
  const Folder folder;
  const nlohmann::json document = simulated({folder.write("four.yaml", kScenario)});
  CHECK(document.at("schema") == "refit.prediction/1");
  CHECK(document.at("scenario") == "four_pairs");
  CHECK(names_of(document) ==
        std::vector<std::string>{"gather_broadcast", "direct", "reshard", "hybrid"});
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
  for (std::size_t i = 0; i < 4; ++i) {
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
  REQUIRE(names_of(document).size() == 5);
  CHECK(names_of(document).back() == "policy");
  // It says direct for everything, so it moves what direct moves.
  CHECK(document["strategies"][4]["network_bytes"] == document["strategies"][1]["network_bytes"]);
  CHECK(names_of(simulated({scenario, "--strategy", "policy"})) ==
        std::vector<std::string>{"policy"});
}

}  // namespace
}  // namespace refit
