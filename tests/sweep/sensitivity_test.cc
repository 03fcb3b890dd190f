#include "sweep/sensitivity.h"

#include "tests/sweep/pair.h"

namespace refit::test {
namespace {

// kPair as a file of its own.
std::string pair_text() {
  std::string text;
  for (std::size_t begin = 1; begin < kPair.size();) {
    const std::size_t end = kPair.find('\n', begin);
    text += kPair.substr(begin + 2, end - begin - 1);
    begin = end + 1;
  }
  return text;
}

TEST_CASE("sensitivity: a faster NIC is worth what the wire says", "[sweep]") {
  const std::vector<Sensitivity> all =
      sensitivity(parse_scenario(pair_text(), "pair.yaml"), {"reshard"}, 2);
  REQUIRE(all.size() == 1);
  CHECK(all[0].strategy == "reshard");
  CHECK(all[0].base.prediction_s == Approx(0.8));
  REQUIRE(all[0].what_ifs.size() == 3);
  const WhatIf& nic = all[0].what_ifs[0];
  CHECK(nic.change == "NICs +100 Gbit/s");
  CHECK(nic.fields == std::vector<std::string>{"cluster.nic_bandwidth: 180 Gbit/s"});
  CHECK(nic.row.prediction_s == Approx(8.0 / 22.5));
  // Two nodes of one GPU have no NVLink whose speed could be asked for.
  const WhatIf& domain = all[0].what_ifs[1];
  CHECK(domain.fields == std::vector<std::string>{"cluster.nvlink_domain_gpus: 2"});
  CHECK(domain.row.outcome == PointOutcome::infeasible);
  CHECK(domain.row.reason.find("nvlink_bandwidth") != std::string::npos);
  CHECK(all[0].what_ifs[2].row.reason == "generation is no set of equal engines");
}

TEST_CASE("sensitivity: one engine more brings its nodes along", "[sweep]") {
  const std::string text = R"(scenario: engines
cluster: {catalog: dgx_h100, nodes: 2}
model: qwen3-0.6b
training: {engine: megatron, gpus: 8, tensor: 2}
generation: {engine: vllm, gpus: 8, tensor: 4, engines: 2}
)";
  const std::vector<Sensitivity> all = sensitivity(parse_scenario(text, "e.yaml"), {"direct"}, 2);
  const WhatIf& engine = all.at(0).what_ifs.at(2);
  // 4 GPUs more than the 16 there are: a third node.
  CHECK(engine.fields == std::vector<std::string>{"generation.gpus: 12", "generation.engines: 3",
                                                  "cluster.nodes: 3"});
  CHECK(engine.row.outcome == PointOutcome::predicted);
  CHECK(engine.row.network_bytes > all[0].base.network_bytes);
  const WhatIf& domain = all[0].what_ifs.at(1);
  CHECK(domain.fields == std::vector<std::string>{"cluster.nvlink_domain_gpus: 16"});
  CHECK(domain.row.outcome == PointOutcome::predicted);
  CHECK_FALSE(domain.row.busiest_link.empty());
  CHECK_FALSE(domain.row.waits_for.empty());
}

TEST_CASE("sensitivity: what the command line changes stays changed", "[sweep]") {
  const std::string text = R"(scenario: engines
cluster: {catalog: dgx_h100, nodes: 2}
model: qwen3-0.6b
training: {engine: megatron, gpus: 8, tensor: 2}
generation: {engine: vllm, gpus: 8, tensor: 4}
)";
  const auto wires = [](Scenario& scenario) { scenario.network_model = wire_only(); };
  const Scenario scenario = parse_scenario(text, "e.yaml");
  const double all_s = sensitivity(scenario, {"direct"}, 2).at(0).what_ifs.at(0).row.prediction_s;
  const double wire_s =
      sensitivity(scenario, {"direct"}, 2, wires).at(0).what_ifs.at(0).row.prediction_s;
  CHECK(wire_s < all_s);
}

}  // namespace
}  // namespace refit::test
