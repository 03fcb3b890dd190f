#include "planner/plan.h"
#include "sim/predict.h"
#include "tests/scenarios/error_of.h"

namespace refit::test {
namespace {

const char* const kBase = R"(scenario: busy
cluster: {catalog: dgx_h100, nodes: 2}
tensors:
  - name: w
    shape: [1000, 1000000]
    dtype: u8
    source: {ranks: 0, placements: [replicate]}
    destination: {ranks: 8, placements: [replicate]}
)";

double wire_seconds(const std::string& rest) {
  const Scenario s = parse_scenario(kBase + rest, "s.yaml");
  const Schedule schedule = plan(s.refit, s.cluster, named_policy("direct"), s.plan);
  return predict(schedule, s.cluster, {wire_only(), {}, {}}).makespan_s;
}

}  // namespace

TEST_CASE("background load leaves less of the links it is on", "[scenarios][background]") {
  // 1 GB over a NIC of 50 GB/s is 20 ms; of 75 % of it 26.67 ms; of 40 GB/s 25 ms.
  CHECK(wire_seconds("") == Approx(20e-3));
  CHECK(wire_seconds("background: [{links: nic, used: 25 %}]\n") ==
        Approx(26.667e-3).epsilon(1e-4));
  CHECK(wire_seconds("background: [{links: nic, ranks: 8..15, used: 10 GB/s}]\n") == Approx(25e-3));
  // On other ports and other links it is nothing.
  CHECK(wire_seconds("background: [{links: nic, ranks: 1..7, used: 90 %}]\n") == Approx(20e-3));
  CHECK(wire_seconds("background: [{links: nvlink, used: 90 %}]\n") == Approx(20e-3));
  // Two loads on one link add up: 50 GB/s less 10 GB/s, of which half is left.
  CHECK(wire_seconds(
            "background:\n  - {links: nic, used: 10 GB/s}\n  - {links: nic, used: 50 %}\n") ==
        Approx(50e-3));
}

TEST_CASE("the group of a straggler waits for its software", "[scenarios][background]") {
  NetworkModel model = wire_only();
  model.fixed_s = 1;
  const auto seconds = [&](const std::string& rest) {
    const Scenario s = parse_scenario(kBase + rest, "s.yaml");
    const Schedule schedule = plan(s.refit, s.cluster, named_policy("direct"), s.plan);
    return predict(schedule, s.cluster, {model, {}, {}}).makespan_s;
  };
  CHECK(seconds("") == Approx(1.02));
  CHECK(seconds("stragglers: [{ranks: 8, slower: 1.5}]\n") == Approx(1.52));
  CHECK(seconds("stragglers: [{ranks: 3, slower: 1.5}]\n") == Approx(1.02));  // takes no part
}

TEST_CASE("slips in background and stragglers are told with their place",
          "[scenarios][background]") {
  const auto complaint = [](const std::string& text) { return error_of(kBase + text); };
  CHECK(
      complaint("background: [{links: nic, used: 100 %}]\n").find("others can't take all of it") !=
      std::string::npos);
  CHECK(complaint("background: [{links: nic, used: 60 GB/s}]\n").find("others take all of it") !=
        std::string::npos);
  CHECK(complaint("background: [{links: nick, used: 6 %}]\n").find("nick") != std::string::npos);
  CHECK(complaint("background: [{links: nic, used: 6}]\n").find("background") != std::string::npos);
  CHECK(complaint("background: [{links: nic, ranks: 99, used: 6 %}]\n").find("rank 99") !=
        std::string::npos);
  CHECK(complaint("stragglers: [{ranks: 3, slower: 0.5}]\n").find("from 1 to 1000, got '0.5'") !=
        std::string::npos);
  CHECK(complaint("stragglers: [{ranks: 3}]\n").find("missing key 'slower'") != std::string::npos);
}

}  // namespace refit::test
