#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "base/csv_table.h"
#include "tests/cli/program.h"

namespace refit {
namespace {

// Two GPUs with a NIC of 1 GB/s each; 2 GB of weights, changes of which are found at 1.5 GB/s.
const char* const kScenario = R"(
scenario: two GPUs
cluster:
  nodes: 2
  gpus_per_node: 1
  nvlink_domain_gpus: 1
  nics_per_node: 1
  nic_bandwidth: 1 GB/s
tensors:
  - name: w
    shape: [1000, 1000000]
    role: attention
    source: {ranks: [0], placements: [replicate]}
    destination: {ranks: [1], placements: [replicate]}
delta: {change: 1 %, codec: rice, place: host, cores: 1}
network_model:
  name: scan
  delta_scan: {value: 1.5 GB/s, source: chosen}
)";

TEST_CASE("crossover: the table says what is fastest, and lines below where that changes",
          "[cli]") {
  const Folder folder;
  const std::string path = folder.write("s.yaml", kScenario);
  const std::vector<std::string> asked = {
      "crossover",     path,       "--strategy", "relay_tree,delta_relay_tree", "--bandwidth",
      "1 GB/s,5 GB/s", "--change", "1"};
  const Outcome shown = refit_program(asked);
  REQUIRE(shown.err.empty());
  REQUIRE(shown.code == 0);
  CHECK_THAT(shown.out, Catch::Matchers::Contains("by bandwidth of each NIC"));
  CHECK_THAT(shown.out, Catch::Matchers::Contains("relay_tree 400.00 ms"));  // 2 GB at 5 GB/s
  CHECK_THAT(shown.out, Catch::Matchers::Contains("at 1 % changed: delta_relay_tree up to "));
  std::vector<std::string> with_csv = asked;
  with_csv.emplace_back("--csv");
  const CsvTable csv = parse_csv(refit_program(with_csv).out, "crossover");
  CHECK(csv.columns == std::vector<std::string>{"bytes_per_s", "changed", "strategy",
                                                "prediction_s", "is_fastest"});
  REQUIRE(csv.records.size() == 4);  // two bandwidths, two strategies
  CHECK(csv.records[3].cells[0] == "5000000000");
  CHECK(csv.records[3].cells[1] == "0.01");
  std::vector<std::string> with_json = asked;
  with_json.emplace_back("--json");
  const auto json = nlohmann::json::parse(refit_program(with_json).out);
  CHECK(json.at("schema") == "refit.crossover/1");
  CHECK(json.at("places").size() == 2);
  CHECK(json.at("places")[0].at("fastest") == "delta_relay_tree");
  REQUIRE(json.at("crossings").size() == 1);
  // 2 GB / b = 2 GB / 1.5 GB/s + what travels, less than a hundredth: at nearly 1.5 GB/s.
  CHECK(json.at("crossings")[0].at("bytes_per_s").get<double>() == Approx(1.49e9).epsilon(0.015));
}

TEST_CASE("crossover: bad questions are refused", "[cli]") {
  const Folder folder;
  std::string text = kScenario;
  text.erase(text.find("delta:"), text.find("network_model") - text.find("delta:"));
  const std::string path = folder.write("s.yaml", text);
  const Outcome none =
      refit_program({"crossover", path, "--strategy", "relay_tree,delta_relay_tree"});
  CHECK(none.code == 2);
  CHECK_THAT(none.err, Catch::Matchers::Contains("`delta`"));
  const std::string whole = folder.write("d.yaml", kScenario);
  const Outcome wan = refit_program({"crossover", whole, "--link", "wan"});
  CHECK(wan.code == 2);
  CHECK_THAT(wan.err, Catch::Matchers::Contains("no WAN link"));
}

}  // namespace
}  // namespace refit
