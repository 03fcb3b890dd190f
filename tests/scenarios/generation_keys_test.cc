// The keys of vLLM and SGLang in a scenario: what they mean, and one bad input per rule.
#include "models/sglang.h"
#include "models/vllm.h"
#include "tests/scenarios/error_of.h"

namespace refit::test {
namespace {

// Line 5 is the generation side's. Qwen3-30B-A3B: 48 layers, 128 experts of 768 columns, 32 query
// and 4 KV heads.
std::string scenario(const std::string& generation, const std::string& model = "qwen3-30b-a3b") {
  return "scenario: s\ncluster: {catalog: dgx_h100, nodes: 3}\nmodel: " + model +
         "\ntraining: {engine: megatron, gpus: 8, expert_tensor: 1}\ngeneration: {engine: " +
         generation + "}\n";
}

std::string refused(const std::string& generation, const std::string& model = "qwen3-30b-a3b") {
  const std::string error = error_of(scenario(generation, model));
  const std::string place = "s.yaml:5:";
  return error.starts_with(place) ? error.substr(error.find(": ", place.size()) + 2) : error;
}

const std::string kFine = "read without an error";

// Members and destination of the class that the tensor with this name belongs to.
const TensorClass& class_of(const Scenario& s, const std::string& name) {
  for (const TensorClass& c : s.refit.classes) {
    for (const std::int64_t member : c.members) {
      if (s.model->tensors[static_cast<std::size_t>(member)].name == name) return c;
    }
  }
  FAIL("no class has " << name);
  return s.refit.classes.front();
}

std::string up_projection(int layer) {
  return "model.layers." + std::to_string(layer) + ".mlp.experts.{expert}.up_proj.weight";
}

std::string slots(int experts, int rotation = 0) {
  std::string list = "[";
  for (int e = 0; e < experts; ++e) {
    list += (e > 0 ? ", " : "") + std::to_string((e + rotation) % experts);
  }
  return list + "]";
}

}  // namespace

TEST_CASE("every key of vLLM reaches the engine", "[scenarios][vllm]") {
  const ModelSpec model = *parse_scenario(scenario("vllm, gpus: 2"), "s.yaml").model;
  const auto same = [&](const std::string& keys, VllmOptions options) {
    options.gpus = 16;
    options.first = Rank(8);
    options.tensor = 2;
    const Scenario s = parse_scenario(scenario("vllm, gpus: 16, tensor: 2, " + keys), "s.yaml");
    const auto side = vllm(model, options);
    for (const TensorClass& c : s.refit.classes) {
      const TensorSpec& first = model.tensors[static_cast<std::size_t>(c.members.front())];
      const auto count = static_cast<int>(c.members.size());
      CHECK(c.destination == side->layout(first, side->stage_of(first), count));
    }
  };
  VllmOptions cut;
  cut.data = 2;
  cut.prefill_context = 2;
  cut.pipeline = 2;
  cut.stage_layers = {40, 8};
  same("data: 2, prefill_context: 2, pipeline: 2, pipeline_partition: [40, 8], engines: 1", cut);
  VllmOptions placed;
  placed.data = 2;
  placed.expert_parallel = true;
  placed.experts.rule = "round_robin";
  placed.version = "0.11";
  placed.all2all_backend = "pplx";
  same(
      "data: 2, expert_parallel: true, expert_placement: round_robin, version: 0.11, "
      "all2all_backend: pplx",
      placed);
  placed.experts = {};
  placed.experts.redundant = 4;
  same("data: 2, expert_parallel: true, redundant_experts: 4", placed);
}

TEST_CASE("every key of SGLang reaches the engine", "[scenarios][sglang]") {
  const ModelSpec model = *parse_scenario(scenario("sglang, gpus: 2"), "s.yaml").model;
  const Scenario s = parse_scenario(
      scenario("sglang, gpus: 16, tensor: 8, pipeline: 2, pipeline_partition: [20, 28], engines: "
               "1, attention_data: 2, attention_context: 2, dp_lm_head: true, dense_tensor: 1, "
               "expert: 2, expert_data: 2, redundant_experts: 2, all2all_backend: none, "
               "version: 0.5.6"),
      "s.yaml");
  SglangOptions options;
  options.gpus = 16;
  options.first = Rank(8);
  options.tensor = 8;
  options.pipeline = 2;
  options.stage_layers = {20, 28};
  options.attention_data = options.attention_context = options.expert_data = 2;
  options.expert = 2;
  options.attention_head = options.whole_dense = true;
  options.experts.redundant = 2;
  options.version = "0.5.6";
  const auto side = sglang(model, options);
  for (const TensorClass& c : s.refit.classes) {
    const TensorSpec& first = model.tensors[static_cast<std::size_t>(c.members.front())];
    CHECK(c.destination ==
          side->layout(first, side->stage_of(first), static_cast<int>(c.members.size())));
  }
}

TEST_CASE("a live map is one list, or lists by layer", "[scenarios][experts]") {
  const Scenario s = parse_scenario(
      scenario("vllm, gpus: 2, tensor: 2, expert_parallel: true, expert_slots: {3: " +
               slots(128, 64) + ", 5..6: " + slots(128, 64) + "}"),
      "s.yaml");
  const TensorClass& moved = class_of(s, up_projection(3));
  const TensorClass& others = class_of(s, up_projection(4));
  // Up and gate projections of three layers are one class: their maps are equal.
  CHECK(moved.members.size() == 3);
  CHECK(&moved == &class_of(s, up_projection(6)));
  CHECK(others.members.size() == 45);
  CHECK(moved.destination.shard(0)[1] == IntervalSet(Interval{64, 128}));
  CHECK(others.destination.shard(0)[1] == IntervalSet(Interval{0, 64}));

  const Scenario all = parse_scenario(
      scenario("vllm, gpus: 2, tensor: 2, expert_parallel: true, expert_slots: [[7], " +
               slots(128) + "]"),
      "s.yaml");
  CHECK(class_of(all, up_projection(3)).destination.shard(0)[1] == IntervalSet(Interval{7, 8}));
  CHECK(class_of(all, up_projection(3)).destination.shard(1)[1] == IntervalSet(Interval{0, 128}));
}

TEST_CASE("maps that can't be are refused where they stand", "[scenarios][errors]") {
  const std::string ep = "vllm, gpus: 4, tensor: 4, expert_parallel: true, ";
  CHECK(refused(ep + "expert_slots: [0, 128]") ==
        "generation.expert_slots[1]: expected an integer from 0 to 127, got '128'");
  CHECK(refused(ep + "expert_slots: []") ==
        "generation.expert_slots: a map needs slots; list the expert of each");
  CHECK(refused(ep + "expert_slots: {}") ==
        "generation.expert_slots: no map is written; write one per layer, or `rest`");
  CHECK(refused(ep + "expert_slots: {48: [0]}") ==
        "generation.expert_slots.48: '48' names no layers; write 3, 3..7 or rest, with layers from "
        "0 to 47");
  CHECK(refused(ep + "expert_slots: {last: [0]}") ==
        "generation.expert_slots.last: 'last' names no layers; write 3, 3..7 or rest, with layers "
        "from 0 to 47");
  CHECK(refused(ep + "expert_slots: {3..5: [0], 4: [0]}") ==
        "generation.expert_slots.4: layer 4 has a map already; give it one");
  CHECK(refused(ep + "expert_slots: [0, 1, 2, 3]") ==
        "generation.expert_slots: expert 4 has no slot; every expert needs one");
  CHECK(refused(ep + "redundant_experts: 4, expert_slots: " + slots(128)) ==
        "generation.redundant_experts: expert_slots already says this; leave one out");
  CHECK(refused(ep + "redundant_experts: 4, expert_slots: {3: " + slots(128) + "}") == kFine);
  CHECK(refused(ep + "redundant_experts: 3") ==
        "generation.redundant_experts: 128 experts and 3 more are 131 slots, which do not divide "
        "over 4 ranks; use 128 or 132 slots");
  CHECK(refused("vllm, gpus: 4, tensor: 4, redundant_experts: 4") ==
        "generation.redundant_experts: experts are cut, not placed, without expert_parallel: true");
  CHECK(refused("vllm, gpus: 4, expert_placement: linear", "qwen3-8b") ==
        "generation.expert_placement: qwen3-8b has no routed experts; leave this out");
}

TEST_CASE("words of a generation engine are known or refused", "[scenarios][errors]") {
  CHECK(refused("vllm, gpus: 4, version: 0.3") ==
        "generation.version: vllm 0.3 is not known; use the last one that is not newer: 0.10, "
        "0.11");
  CHECK(refused("sglang, gpus: 4, version: 0.6") ==
        "generation.version: sglang 0.6 is not known; use the last one that is not newer: 0.5.5, "
        "0.5.6, 0.5.9");
  CHECK(refused("vllm, gpus: 4, all2all_backend: deepep") ==
        "generation.all2all_backend: 'deepep' is not known in version 0.11; use one of "
        "allgather_reducescatter, naive, pplx, deepep_high_throughput, deepep_low_latency, mori, "
        "mori_high_throughput, mori_low_latency, nixl_ep, flashinfer_all2allv");
  CHECK(refused("vllm, gpus: 4, shared_experts: replicated") ==
        "generation.shared_experts: qwen3-30b-a3b has no shared experts; leave this out");
  CHECK(refused("vllm, gpus: 4, shared_experts: whole", "deepseek-v3") ==
        "generation.shared_experts: unknown value 'whole'; known values: sharded, replicated");
  CHECK(refused("vllm, gpus: 4, mxfp4_experts: true") ==
        "generation.mxfp4_experts: the experts of qwen3-30b-a3b are cut alike with and without; "
        "leave this out");
  CHECK(refused("sglang, gpus: 4, tensor: 4, dense_tensor: 2") ==
        "generation.dense_tensor: dense layers are cut by all 4 tensor ranks or not at all; use 4 "
        "or 1");
}

TEST_CASE("stages written out are as many as the pipeline, with all layers",
          "[scenarios][errors]") {
  CHECK(refused("vllm, gpus: 4, pipeline: 2, pipeline_partition: [24, 24]") == kFine);
  CHECK(refused("vllm, gpus: 4, pipeline: 2, pipeline_partition: [48]") ==
        "generation.pipeline_partition: 1 stages are written out, but pipeline is 2; make them "
        "equal");
  CHECK(refused("sglang, gpus: 4, pipeline: 2, pipeline_partition: [24, 23]") ==
        "generation.pipeline_partition: 2 stages with 47 layers are written out, but pipeline is 2 "
        "and the model has 48 layers");
}

TEST_CASE("degrees of a generation engine fit together", "[scenarios][errors]") {
  CHECK(refused("vllm, gpus: 8, tensor: 4, data: 2, prefill_context: 2") ==
        "generation.prefill_context: prefill_context 2 x tensor x pipeline x data 8 need 16 ranks, "
        "but gpus is 8");
  CHECK(refused("vllm, gpus: 3, tensor: 3", "qwen3-235b-a22b") ==
        "generation.tensor: 3 does not divide 64 attention heads; use 2 or 4");
  CHECK(refused("vllm, gpus: 8, tensor: 8", "qwen3-235b-a22b") == kFine);
  CHECK(refused("vllm, gpus: 16, tensor: 16", "qwen3-235b-a22b") == kFine);
  // 768 columns of an expert over 16 x 10 ranks would be 4.8.
  CHECK(refused("vllm, gpus: 10, tensor: 2, data: 5") ==
        "generation.tensor: tensor x prefill_context x data: "
        "model.layers.0.mlp.experts.{expert}.gate_proj.weight: 768 rows do not divide evenly into "
        "10; use 8 or 12");
  CHECK(refused("sglang, gpus: 8, tensor: 8, attention_data: 3") ==
        "generation.attention_data: attention_data x attention_context: 3 does not divide the 8 "
        "tensor ranks of a stage; use 2 or 4");
  CHECK(refused("sglang, gpus: 8, tensor: 8, expert: 3") ==
        "generation.expert: expert x expert_data: 3 does not divide the 8 tensor ranks of a stage; "
        "use 2 or 4");
  CHECK(refused("sglang, gpus: 8, tensor: 8, engines: 2") ==
        "generation.engines: 2 engines of 8 ranks are 16 GPUs, but gpus is 8; make them equal");
  CHECK(refused("sglang, gpus: 8, expert: 2", "qwen3-8b") ==
        "generation.expert: qwen3-8b has no routed experts; leave this out");
  CHECK(refused("sglang, gpus: 8, data: 2") ==
        "generation: unknown key 'data'; known keys: engine, precision, version, gpus, first_gpu, "
        "tensor, "
        "pipeline, pipeline_partition, engines, attention_data, attention_context, dp_lm_head, "
        "dense_tensor, expert, expert_data, redundant_experts, expert_slots, all2all_backend, "
        "shared_experts, mxfp4_experts");
}

}  // namespace refit::test
