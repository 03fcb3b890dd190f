// The `delta` part of a scenario: what is wrong with it is said with line and column.
#include <catch2/catch.hpp>

#include "tests/scenarios/error_of.h"

namespace refit::test {
namespace {

std::string scenario(const std::string& delta) {
  return "scenario: s\ncluster: {catalog: dgx_h100, nodes: 1}\ntensors:\n"
         "  - {name: w, shape: [64], role: router, source: {ranks: 0..0, placements: [replicate]},"
         " destination: {ranks: 1..1, placements: [replicate]}}\n"
         "delta: " +
         delta + "\n";
}

std::string refused(const std::string& delta) { return error_of(scenario(delta)); }

}  // namespace

TEST_CASE("delta: keys and their bounds", "[scenarios][delta]") {
  const Scenario read = parse_scenario(
      scenario("{change: 1 %, codec: conditioned, place: host, cores: 4, staged: false}"), "s");
  REQUIRE(read.plan.delta);
  CHECK(read.plan.delta->coding == Coding{Codec::conditioned, CodingPlace::host, 4, false});
  CHECK(read.plan.delta->words == "1 % changed, conditioned, on the host, 4 cores per rank");
  const Scenario usual = parse_scenario(scenario("{change: 1 %}"), "s");
  CHECK(usual.plan.delta->coding == Coding{});
  CHECK(parse_scenario(scenario("{change: 1 %, place: host}"), "s").plan.delta->coding.cores == 8);
}

TEST_CASE("delta: bad input is refused where it stands", "[scenarios][delta]") {
  CHECK(refused("{codec: rice}").starts_with("s.yaml:5:8: delta: missing key 'change'"));
  CHECK(refused("{change: 1}").starts_with("s.yaml:5:17: delta.change: "));
  CHECK(refused("{change: 101 %}").starts_with("s.yaml:5:17: delta.change: "));
  CHECK(refused("{change: 1 %, codek: rice}")
            .starts_with("s.yaml:5:22: delta: unknown key 'codek'; did you mean 'codec'?"));
  CHECK(refused("{change: 1 %, codec: zip}").starts_with("s.yaml:5:29: delta.codec: "));
  CHECK(refused("{change: 1 %, place: moon}").starts_with("s.yaml:5:29: delta.place: "));
  CHECK(refused("{change: 1 %, cores: 4}") ==
        "s.yaml:5:29: delta.cores: cores are for place: host; leave this out");
  CHECK(refused("{change: 1 %, place: host, cores: 0}").starts_with("s.yaml:5:42: delta.cores: "));
  CHECK(refused("{change: 1 %, staged: 3}").starts_with("s.yaml:5:30: delta.staged: "));
  CHECK(refused("{change: 1 %, bytes_per_change: 0}") ==
        "s.yaml:5:40: delta.bytes_per_change: expected a number of bytes above 0 and up to 16, got "
        "'0'");
  CHECK(refused("{change: 1 %, residual: {codec: rice}}") ==
        "s.yaml:5:32: delta.residual: no tensor is converted on its way; leave this out");
}

TEST_CASE("delta: rates that fit no tensor, or not all, are refused", "[scenarios][delta]") {
  CHECK(refused("{change: {routed_expert: 1 %}}") ==
        "s.yaml:5:17: delta.change: says nothing of w (role router); add rest");
  CHECK(refused("{change: {'x*': 1 %, rest: 1 %}}") ==
        "s.yaml:5:24: delta.change.x*: no tensor has a name like 'x*'");
  CHECK(refused("{change: {rooter: 1 %, rest: 1 %}}")
            .starts_with("s.yaml:5:26: delta.change.rooter: expected a role"));
  CHECK(refused("{change: {learning_rate: 0}}")
            .starts_with("s.yaml:5:33: delta.change.learning_rate: expected a number above 0"));
  CHECK(refused("{change: {learning_rate: 1e-6, beta1: 1}}")
            .starts_with("s.yaml:5:46: delta.change.beta1: expected a number above 0 and below 1"));
  CHECK(refused("{change: {learning_rate: 1e-6, rest: 1 %}}")
            .starts_with("s.yaml:5:39: delta.change: unknown key 'rest'"));
}

TEST_CASE("delta: of converted tensors, changes are coded without the receiver's old weights",
          "[scenarios][delta]") {
  std::string text = R"(
scenario: quantised
cluster: {catalog: dgx_h100, nodes: 3}
model: qwen3-30b-a3b
training: {engine: megatron, gpus: 16, pipeline: 2, expert: 8}
generation: {engine: vllm, gpus: 8, tensor: 2, engines: 4, precision: fp8_blockwise}
delta: {change: 1 %, codec: conditioned, residual: {change: 0.1 %, codec: conditioned}}
)";
  CHECK(error_of(text).find("delta.residual.codec: conditioned needs the receiver's old weights") !=
        std::string::npos);
  const Scenario read = parse_scenario(changed(text, ", codec: conditioned}}", "}}"), "s.yaml");
  const auto made = [](const TensorClass& c) { return !c.conversions.empty() || c.scales; };
  for (std::size_t c = 0; c < read.refit.classes.size(); ++c) {
    CAPTURE(read.refit.classes[c].name, read.plan.delta->shares[c]);
    // 0.1 % with a byte and a half each of one byte; 1 % with a byte each of two.
    if (made(read.refit.classes[c])) CHECK(read.plan.delta->shares[c] < 0.003);
    if (!made(read.refit.classes[c])) CHECK(read.plan.delta->shares[c] > 0.004);
  }
  // Whoever sets another rate of all weights, as a crossover does, codes as the scenario says.
  const Scenario other = parse_scenario(
      changed(text, "{change: 0.1 %, codec: conditioned}", "{codec: nemo_overwrite}"), "s.yaml");
  DeltaOptions again = *other.plan.delta;
  set_change_rate(other.refit, 0.02, again);
  for (std::size_t c = 0; c < other.refit.classes.size(); ++c) {
    const TensorClass& tensors = other.refit.classes[c];
    CAPTURE(tensors.name);
    const Codec codec = made(tensors) ? Codec::nemo_overwrite : Codec::conditioned;
    CHECK(again.shares[c] == coded_share(codec, 0.02, tensors.dtype));
  }
  set_change_rate(other.refit, 0.01, again);
  CHECK(again.shares == other.plan.delta->shares);
  CHECK(again.coding.changes_per_byte == Approx(other.plan.delta->coding.changes_per_byte));
}

}  // namespace refit::test
