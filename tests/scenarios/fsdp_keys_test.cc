// The keys of the FSDP family: one bad input per rule, and what good ones mean.
#include "tests/scenarios/error_of.h"

namespace refit::test {
namespace {

std::string scenario(const std::string& training, const std::string& model = "qwen3-30b-a3b") {
  return "scenario: s\ncluster: {catalog: dgx_h100, nodes: 4}\nmodel: " + model +
         "\n\ntraining: {" + training + "}\ngeneration: {engine: vllm, gpus: 8}\n";
}

std::string complaint(const std::string& training, const std::string& model = "qwen3-30b-a3b") {
  return error_of(scenario(training, model));
}

}  // namespace

TEST_CASE("fsdp, automodel and megatron_fsdp have keys of their own", "[scenarios][errors]") {
  CHECK(complaint("engine: fsdp, gpus: 16, replicate: 2, expert: 8") == "read without an error");
  CHECK(complaint("engine: automodel, gpus: 16, context: 2, expert: 8") == "read without an error");
  CHECK(complaint("engine: megatron_fsdp, gpus: 16, expert: 8, vocab_padding: bridge, "
                  "bucket_elements: 1000000") == "read without an error");
  CHECK(complaint("engine: fsdp, gpus: 16, vocab_padding: none") ==
        "s.yaml:5:36: training: unknown key 'vocab_padding'; known keys: engine, precision, gpus, "
        "first_gpu, replicate, tensor, context, pipeline, stage_layers, expert, expert_tensor, "
        "stacked_experts");
  CHECK(complaint("engine: automodel, gpus: 16, expert_tensor: 2") ==
        "s.yaml:5:41: training: unknown key 'expert_tensor'; known keys: engine, precision, gpus, "
        "first_gpu, replicate, tensor, context, pipeline, stage_layers, expert");
  CHECK(
      complaint("engine: megatron_fsdp, gpus: 16, stacked_experts: true") ==
      "s.yaml:5:45: training: unknown key 'stacked_experts'; known keys: engine, precision, gpus, "
      "first_gpu, replicate, tensor, context, pipeline, stage_layers, expert, expert_tensor, "
      "vocab_padding, parameters, bucket_elements");
  CHECK(complaint("engine: megatron_fsdp, gpus: 16, parameters: mine") ==
        "s.yaml:5:57: training.parameters: unknown value 'mine'; known values: megatron, "
        "checkpoint");
}

TEST_CASE("what is wrong with a degree of FSDP is said at its key", "[scenarios][errors]") {
  CHECK(complaint("engine: fsdp, gpus: 16, replicate: 3") ==
        "s.yaml:5:47: training.replicate: replicate x context x tensor: 3 ranks do not divide the "
        "16 ranks of a pipeline stage; use 2 or 4");
  CHECK(complaint("engine: fsdp, gpus: 16, tensor: 8") ==
        "s.yaml:5:44: training.tensor: 8 does not divide 4 key/value heads, and a DTensor plan "
        "cuts between heads only; use 4");
  CHECK(complaint("engine: automodel, gpus: 16, tensor: 2") ==
        "s.yaml:5:49: training.tensor: 2 is not to be had with experts, which Automodel trains "
        "without tensor parallelism; use 1");
  CHECK(complaint("engine: megatron_fsdp, gpus: 16, tensor: 2") ==
        "s.yaml:5:53: training.tensor: tensor x expert_tensor: experts would be cut by 2 ranks, as "
        "tensor says, and flat buffers are described for whole ones; write expert_tensor: 1");
  CHECK(complaint("engine: fsdp, gpus: 16, pipeline: 2, stage_layers: [48]") ==
        "s.yaml:5:63: training.stage_layers: 1 stages are written out, but pipeline is 2; make "
        "them equal");
}

TEST_CASE("what a tensor does not allow is said at the degree", "[scenarios][errors]") {
  // 14 ranks and 128 experts: ep may be 1 or 2, and 7 or 14 shards do not divide a hidden size of
  // 2048.
  CHECK(complaint("engine: automodel, gpus: 14, expert: 2", "qwen3-30b-a3b") ==
        "s.yaml:5:49: training.expert: 2 leaves 7 ranks to cut dim 1 of "
        "model.layers.0.mlp.experts.{expert}.gate_proj.weight, and 2048 rows do not divide evenly "
        "into 7; use none");
}

TEST_CASE("a dense model has no experts to ask for", "[scenarios][errors]") {
  CHECK(complaint("engine: fsdp, gpus: 8, expert: 2", "qwen3-8b") ==
        "s.yaml:5:43: training.expert: qwen3-8b has no routed experts; leave this out");
  CHECK(complaint("engine: fsdp, gpus: 8, stacked_experts: true", "qwen3-8b") ==
        "s.yaml:5:52: training.stacked_experts: qwen3-8b has no routed experts; leave this out");
  CHECK(complaint("engine: megatron_fsdp, gpus: 8, expert_tensor: 1", "qwen3-8b") ==
        "s.yaml:5:59: training.expert_tensor: qwen3-8b has no routed experts; leave this out");
}

TEST_CASE("an engine of the family may be the side that receives", "[scenarios]") {
  const Scenario s = parse_scenario(
      "scenario: s\ncluster: {catalog: dgx_h100, nodes: 4}\nmodel: qwen3-30b-a3b\n"
      "training: {engine: megatron_fsdp, gpus: 12, expert: 4}\n"
      "generation: {engine: fsdp, gpus: 16, expert: 4}\n",
      "s.yaml");
  REQUIRE(s.refit.sources.size() == 12);
  REQUIRE(s.refit.destinations.size() == 16);
  REQUIRE(s.refit.unique_bytes() == s.model->bytes());
}

}  // namespace refit::test
