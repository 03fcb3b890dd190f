// One bad input per rule of a scenario's own keys, of the model, the plan and the network model.
#include "tests/scenarios/error_of.h"

namespace refit::test {
namespace {

const char* const kGood = R"(scenario: good
cluster: {catalog: dgx_h100, nodes: 2}
model: qwen3-30b-a3b
training:
  engine: megatron
  gpus: 8
  expert: 4
generation:
  engine: vllm
  gpus: 8
  tensor: 4
plan:
  chunks: 8
  bucket: 1 GiB
)";

std::string with(const std::string& from, const std::string& to) {
  return error_of(changed(kGood, from, to));
}

// A file that is not there is no fault of the text: the same code as for the scenario's own.
std::string without_file(const std::string& from, const std::string& to) {
  try {
    parse_scenario(changed(kGood, from, to), "s.yaml");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::environment);
    return error.what();
  }
  return "read without an error";
}

}  // namespace

TEST_CASE("the good scenario of this file is good", "[scenarios][errors]") {
  CHECK(error_of(kGood) == "read without an error");
}

TEST_CASE("an unknown key is refused with the nearest known one", "[scenarios][errors]") {
  CHECK(with("plan:", "plans:") ==
        "s.yaml:12:1: unknown key 'plans'; did you mean 'plan'? known keys: scenario, description, "
        "assumptions, cluster, model, training, generation, convert, tensors, plan, network_model, "
        "fault, runtime, background, stragglers, delta");
  CHECK(
      with("  chunks: 8", "  chunk: 8") ==
      "s.yaml:13:3: plan: unknown key 'chunk'; did you mean 'chunks'? known keys: chunks, streams, "
      "balance, injected_domains, bucket, buffers, policy, limits, payload, in_flight, relay, "
      "pauses, describes");
  CHECK(
      with("model: qwen3-30b-a3b", "model: {name: qwen3-30b-a3b, dtyp: bf16}") ==
      "s.yaml:3:30: model: unknown key 'dtyp'; did you mean 'dtype'? known keys: name, dtype, mtp, "
      "fp32_small_tensors");
  CHECK(with("nodes: 2", "node: 2")
            .find("s.yaml:2:30: cluster: unknown key 'node'; did you mean "
                  "'nodes'?") == 0);
}

TEST_CASE("a missing key is named", "[scenarios][errors]") {
  CHECK(with("scenario: good\n", "") == "s.yaml:1:1: missing key 'scenario'");
  CHECK(with("cluster: {catalog: dgx_h100, nodes: 2}\n", "") ==
        "s.yaml:1:1: missing key 'cluster'");
  CHECK(with("model: qwen3-30b-a3b\n", "") ==
        "s.yaml:1:1: missing key 'model'; or write the layouts out under 'tensors'");
  CHECK(with("model: qwen3-30b-a3b", "model: {dtype: bf16}") ==
        "s.yaml:3:8: model: missing key 'name'");
  const std::string text = kGood;
  CHECK(error_of(text.substr(0, text.find("training"))) == "s.yaml:1:1: missing key 'training'");
  CHECK(error_of(text.substr(0, text.find("generation"))) ==
        "s.yaml:1:1: missing key 'generation'");
}

TEST_CASE("a value of another type is refused", "[scenarios][errors]") {
  CHECK(error_of("- scenario") == "s.yaml:1:1: expected a map, got a list");
  CHECK(error_of("") == "s.yaml:2:1: expected a map, got nothing");
  CHECK(with("scenario: good", "scenario: [good]") ==
        "s.yaml:1:11: scenario: expected text, got a list");
  CHECK(with("cluster: {catalog: dgx_h100, nodes: 2}", "cluster: dgx_h100") ==
        "s.yaml:2:10: cluster: expected a map, got 'dgx_h100'");
  CHECK(with("plan:", "assumptions: none\nplan:") ==
        "s.yaml:12:14: assumptions: expected a list, got 'none'");
  CHECK(with("plan:", "description: {a: b}\nplan:") ==
        "s.yaml:12:14: description: expected text, got a map");
  CHECK(with("chunks: 8", "chunks: eight") ==
        "s.yaml:13:11: plan.chunks: expected an integer from 1 to 4096, got 'eight'");
  CHECK(with("model: qwen3-30b-a3b", "model: {name: qwen3-30b-a3b, mtp: 1}") ==
        "s.yaml:3:35: model.mtp: expected true or false, got '1'");
  CHECK(with("bucket: 1 GiB", "bucket: 1024").find("s.yaml:14:11: plan.bucket: ") == 0);
}

TEST_CASE("a model that is not there is refused where it is named", "[scenarios][errors]") {
  const std::string unknown = with("qwen3-30b-a3b", "qwen3-31b");
  CHECK(unknown.find("s.yaml:3:8: model: model 'qwen3-31b' is not in the catalog; use one of "
                     "deepseek-r1, deepseek-v2-lite, ") == 0);
  CHECK(
      without_file("qwen3-30b-a3b", "mine/config.json") ==
      "s.yaml:3:8: model: there is no file mine/config.json; paths are relative to the scenario's "
      "folder");
  CHECK(without_file("qwen3-30b-a3b", "{name: ./x.json}") ==
        "s.yaml:3:15: model.name: there is no file ./x.json; paths are relative to the scenario's "
        "folder");
  CHECK(with("qwen3-30b-a3b", "{name: qwen3-30b-a3b, dtype: bf15}") ==
        "s.yaml:3:37: model.dtype: 'bf15' is not an element type; use one of bf16, f16, f32, f64, "
        "f8_e4m3, f8_e5m2, f8_e8m0, u8, i8, i16, i32, i64");
}

TEST_CASE("a network model that is not there is refused where it is named", "[scenarios][errors]") {
  CHECK(with("plan:", "network_model: fast\nplan:") ==
        "s.yaml:12:16: network_model: network model 'fast' is not known; use one of default, "
        "wire_only, dcr-aws");
  CHECK(without_file("plan:", "network_model: nets/fast.yaml\nplan:") ==
        "s.yaml:12:16: network_model: there is no file nets/fast.yaml; paths are relative to the "
        "scenario's folder");
  CHECK(with("plan:", "network_model: {name: mine, call: {value: 5 us, sourc: me}}\nplan:") ==
        "s.yaml:12:49: network_model.call: unknown key 'sourc'; did you mean 'source'? known keys: "
        "value, source");
}

TEST_CASE("a cluster's faults keep their place in the scenario", "[scenarios][errors]") {
  CHECK(with("nodes: 2", "nodes: 0") ==
        "s.yaml:2:37: cluster.nodes: expected an integer from 1 to 1000000, got '0'");
  CHECK(
      with("nodes: 2", "nodes: 2, nics_per_node: 3").find("s.yaml:2:55: cluster.nics_per_node: ") ==
      0);
}

TEST_CASE("options of a plan have bounds", "[scenarios][errors]") {
  const auto plan = [](const std::string& line) { return with("chunks: 8", line); };
  CHECK(plan("chunks: 0") ==
        "s.yaml:13:11: plan.chunks: expected an integer from 1 to 4096, got '0'");
  CHECK(plan("streams: 65") ==
        "s.yaml:13:12: plan.streams: expected an integer from 1 to 64, got '65'");
  CHECK(plan("buffers: 0") ==
        "s.yaml:13:12: plan.buffers: expected an integer from 1 to 64, got '0'");
  CHECK(plan("injected_domains: -1") ==
        "s.yaml:13:21: plan.injected_domains: expected an integer from 0 to 1000000, got '-1'");
  CHECK(plan("balance: nodeaware") ==
        "s.yaml:13:12: plan.balance: unknown value 'nodeaware'; did you mean 'node_aware'? known "
        "values: "
        "node_aware, uniform");
  CHECK(with("1 GiB", "0 B") == "s.yaml:14:11: plan.bucket: a bucket holds at least 1 B");
  // 61,064,245,248 B of weights in buckets of 64 KiB would be 931,767.
  CHECK(with("1 GiB", "64 KiB") ==
        "s.yaml:14:11: plan.bucket: 61064245248 B of weights in buckets of 65536 B are more than "
        "65536 "
        "buckets; use larger ones");
}

TEST_CASE("a policy names roles and strategies", "[scenarios][errors]") {
  const auto policy = [](const std::string& map) { return with("chunks: 8", "policy: " + map); };
  CHECK(policy("{routed_experts: reshard}") ==
        "s.yaml:13:12: plan.policy: unknown key 'routed_experts'; did you mean 'routed_expert'? "
        "known "
        "keys: rest, embedding, lm_head, attention, linear_attention, router, routed_expert, "
        "shared_expert, dense_ffn, latent_projection, norm, unspecified");
  CHECK(policy("{norm: brodcast}") ==
        "s.yaml:13:18: plan.policy.norm: unknown value 'brodcast'; known values: gather_broadcast, "
        "direct, reshard");
  CHECK(policy("{rest: hybrid}") ==
        "s.yaml:13:18: plan.policy.rest: unknown value 'hybrid'; known values: gather_broadcast, "
        "direct, "
        "reshard");
  CHECK(policy("hybrid") == "s.yaml:13:11: plan.policy: expected a map, got 'hybrid'");
}

TEST_CASE("tensors and a model exclude each other", "[scenarios][errors]") {
  const std::string tensors =
      "tensors: [{name: w, shape: [4], source: {ranks: 0, placements: [replicate]}, destination: "
      "{ranks: 1, placements: [replicate]}}]\n";
  CHECK(with("plan:", tensors + "plan:") ==
        "s.yaml:3:8: model: a scenario has either `tensors`, or `model` with its two sides");
  const std::string without_model = changed(kGood, "model: qwen3-30b-a3b\n", tensors);
  CHECK(error_of(without_model) ==
        "s.yaml:5:3: training: a scenario has either `tensors`, or `model` with its two sides");
}

}  // namespace refit::test
