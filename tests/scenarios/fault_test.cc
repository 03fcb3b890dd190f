#include "tests/scenarios/error_of.h"

namespace refit::test {
namespace {

const char* const kBase = R"(scenario: lost
cluster: {catalog: dgx_h100, nodes: 2}
tensors:
  - name: w
    shape: [64, 64]
    dtype: bf16
    source: {ranks: 0..7, placements: [replicate]}
    destination: {ranks: 8..15, placements: [shard(0)]}
fault: )";

FaultSpec fault_of(const std::string& text) {
  return parse_scenario(kBase + text, "s.yaml").fault.value();
}

std::string complaint(const std::string& text) { return error_of(kBase + text); }

}  // namespace

TEST_CASE("a fault has usual values for what is not written", "[scenarios][fault]") {
  const FaultSpec killed = fault_of("{rank: 3}");
  CHECK(killed.kind == FaultKind::killed);
  CHECK(killed.place == FaultPlace::rank);
  CHECK(killed.rank == Rank(3));
  CHECK(killed.at_s < 0);
  CHECK(killed.fraction == 0.5);
  CHECK(killed.detection_s == 0.025);
  CHECK(killed.policy == FaultPolicy::shrink);
  const FaultSpec nic = fault_of("{nic: 5}");
  CHECK(nic.kind == FaultKind::dark);
  CHECK(nic.place == FaultPlace::nic);
  CHECK(nic.detection_s == 0.5);
}

TEST_CASE("a fault is read as it is written", "[scenarios][fault]") {
  const FaultSpec fault = fault_of(
      "{rank: 3, kind: stalled, at: 40 ms, policy: rebuild, detection: 2 s, rebuild: 3 s}");
  CHECK(fault.kind == FaultKind::stalled);
  CHECK(fault.at_s == 0.04);
  CHECK(fault.policy == FaultPolicy::rebuild);
  CHECK(fault.detection_s == 2);
  CHECK(fault.rebuild_s == 3);
  CHECK(fault_of("{rank: 3, at: 12.5 %}").fraction == 0.125);
  CHECK(fault_of("{rank: 3, at: 100%}").fraction == 1);
  CHECK_FALSE(parse_scenario(std::string(kBase, std::string(kBase).find("fault")), "s.yaml").fault);
}

TEST_CASE("a fault that makes no sense is refused with what would", "[scenarios][fault][errors]") {
  CHECK(
      complaint("{at: 1 s}") ==
      "s.yaml:9:8: fault: say what is lost: rank: 3, nic: 3 or nvlink: 3 (the port of that rank)");
  CHECK(complaint("{rank: 3, nic: 3}") ==
        "s.yaml:9:23: fault.nic: a fault has one place; leave all but one out");
  CHECK(complaint("{rank: 16}").find("s.yaml:9:15: fault.rank: ") == 0);
  CHECK(complaint("{nic: 3, kind: killed}") ==
        "s.yaml:9:23: fault.kind: a link can only go dark; leave this out, or write the rank");
  CHECK(complaint("{rank: 3, at: 150 %}") ==
        "s.yaml:9:22: fault.at: expected a percentage from 0 % to 100 %, got '150 %'");
  for (const char* wrong :
       {"soon %", "%", "5 % %", "0x10 %", "nan %", "-1 %", "1e400 %"}) {
    CAPTURE(wrong);
    CHECK(complaint(fmt::format("{{rank: 3, at: '{}'}}", wrong)) ==
          fmt::format("s.yaml:9:22: fault.at: expected a percentage from 0 % to 100 %, got '{}'",
                      wrong));
  }
  CHECK(complaint("{rank: 3, at: 40}").find("s.yaml:9:22: fault.at: ") == 0);
  CHECK(complaint("{rank: 3, rebuild: 1 s}") ==
        "s.yaml:9:27: fault.rebuild: only policy: rebuild makes connections anew");
  CHECK(complaint("{rank: 3, policy: hope}").find("s.yaml:9:26: fault.policy: ") == 0);
  CHECK(complaint("{rank: 3, when: 1 s}").find("unknown key 'when'") != std::string::npos);
}

}  // namespace refit::test
