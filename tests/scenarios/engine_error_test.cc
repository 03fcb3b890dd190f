// One bad input per rule of the two sides of a scenario.
#include "tests/scenarios/error_of.h"

namespace refit::test {
namespace {

// Line 5 is the training side's, line 6 the generation side's. Qwen3-30B-A3B: 48 layers, 128
// experts of 768 columns, 32 query and 4 KV heads.
std::string scenario(const std::string& training, const std::string& generation,
                     const std::string& model = "qwen3-30b-a3b") {
  return "scenario: s\ncluster: {catalog: dgx_h100, nodes: 4}\nmodel: " + model +
         "\n\ntraining: {engine: megatron" + training + "}\ngeneration: {engine: vllm" +
         generation + "}\n";
}

std::string training(const std::string& keys, const std::string& model = "qwen3-30b-a3b") {
  return error_of(scenario(keys, ", gpus: 8", model));
}

std::string generation(const std::string& keys, const std::string& model = "qwen3-30b-a3b") {
  return error_of(scenario(", gpus: 8", keys, model));
}

}  // namespace

TEST_CASE("the engine is one of six, and each has its own keys", "[scenarios][errors]") {
  const std::string good = scenario(", gpus: 8", ", gpus: 8");
  CHECK(error_of(good) == "read without an error");
  CHECK(error_of(changed(good, "megatron", "megatrom")) ==
        "s.yaml:5:20: training.engine: unknown value 'megatrom'; did you mean 'megatron'? known "
        "values: "
        "megatron, fsdp, automodel, megatron_fsdp, vllm, sglang");
  CHECK(error_of(changed(good, "engine: vllm, ", "")) ==
        "s.yaml:6:13: generation: missing key 'engine'");
  CHECK(training(", gpu: 8") ==
        "s.yaml:5:30: training: unknown key 'gpu'; did you mean 'gpus'? known keys: engine, "
        "precision, gpus, "
        "first_gpu, tensor, context, pipeline, expert, expert_tensor, order, virtual_pipeline, "
        "first_stage_layers, last_stage_layers, account_for_embedding, account_for_loss, "
        "stage_layers, pipeline_layout, hybrid_pattern, vocab_padding");
  CHECK(generation(", gpus: 8, context: 2") ==
        "s.yaml:6:37: generation: unknown key 'context'; known keys: engine, precision, version, "
        "gpus, "
        "first_gpu, tensor, pipeline, pipeline_partition, data, prefill_context, engines, "
        "expert_parallel, expert_placement, redundant_experts, expert_slots, all2all_backend, "
        "shared_experts, mxfp4_experts");
  CHECK(training(", tensor: 2") == "s.yaml:5:11: training: missing key 'gpus'");
  CHECK(error_of(changed(good, "training: {engine: megatron, gpus: 8}", "training: megatron")) ==
        "s.yaml:5:11: training: expected a map with key 'engine', got 'megatron'");
}

TEST_CASE("a side stays inside the cluster", "[scenarios][errors]") {
  CHECK(training(", gpus: 40") ==
        "s.yaml:5:36: training.gpus: GPUs 0 to 39 are asked for, but the cluster has GPUs 0 to 31; "
        "add "
        "nodes or use fewer");
  CHECK(generation(", gpus: 25") ==
        "s.yaml:6:34: generation.gpus: GPUs 8 to 32 are asked for, but the cluster has GPUs 0 to "
        "31; add "
        "nodes or use fewer");
  CHECK(generation(", gpus: 8, first_gpu: 32") ==
        "s.yaml:6:48: generation.first_gpu: there is no GPU 32; the cluster has GPUs 0 to 31");
  CHECK(training(", gpus: 0") ==
        "s.yaml:5:36: training.gpus: expected an integer from 1 to 1000000, got '0'");
  CHECK(training(", gpus: 99999999999999999999") ==
        "s.yaml:5:36: training.gpus: expected an integer from 1 to 1000000, got "
        "'99999999999999999999'");
}

TEST_CASE("each degree is a number of ranks that the side has", "[scenarios][errors]") {
  for (const char* key : {"tensor", "context", "pipeline", "expert", "expert_tensor"}) {
    const std::string place = std::string("s.yaml:5:") +
                              std::to_string(41 + std::string(key).size()) + ": training." + key +
                              ": ";
    CHECK(training(std::string(", gpus: 8, ") + key + ": 0") ==
          place + "expected an integer from 1 to 1000000, got '0'");
    CHECK(training(std::string(", gpus: 8, ") + key + ": 16") ==
          place + "16 ranks are more than the 8 GPUs of this side");
  }
  for (const char* key : {"tensor", "pipeline", "data"}) {
    const std::string place = std::string("s.yaml:6:") +
                              std::to_string(39 + std::string(key).size()) + ": generation." + key +
                              ": ";
    CHECK(generation(std::string(", gpus: 8, ") + key + ": 1.5") ==
          place + "expected an integer from 1 to 1000000, got '1.5'");
    CHECK(generation(std::string(", gpus: 8, ") + key + ": 9") ==
          place + "9 ranks are more than the 8 GPUs of this side");
  }
}

TEST_CASE("degrees divide the ranks of the training side", "[scenarios][errors]") {
  CHECK(training(", gpus: 8, tensor: 3") ==
        "s.yaml:5:47: training.tensor: 3 does not divide 8 ranks; use one of 1, 2, 4, 8");
  CHECK(training(", gpus: 8, pipeline: 3") ==
        "s.yaml:5:49: training.pipeline: 3 does not divide 8 ranks; use one of 1, 2, 4, 8");
  CHECK(training(", gpus: 8, context: 3") ==
        "s.yaml:5:48: training.context: tensor x context: 3 ranks do not divide the 8 ranks of a "
        "pipeline "
        "stage (8 ranks / pipeline 1); use 2 or 4");
  CHECK(training(", gpus: 8, expert: 3") ==
        "s.yaml:5:47: training.expert: expert x expert_tensor: 3 ranks do not divide the 8 ranks "
        "of a "
        "pipeline stage (8 ranks / pipeline 1); use 2 or 4");
  CHECK(training(", gpus: 8, expert_tensor: 3") ==
        "s.yaml:5:54: training.expert_tensor: expert x expert_tensor: 3 ranks do not divide the 8 "
        "ranks of "
        "a pipeline stage (8 ranks / pipeline 1); use 2 or 4");
  CHECK(training(", gpus: 6, expert: 3") ==
        "s.yaml:5:47: training.expert: 3 does not divide 128 experts; Megatron needs equal shares, "
        "use 2");
}

TEST_CASE("degrees together are no more than the side has", "[scenarios][errors]") {
  CHECK(training(", gpus: 8, tensor: 4, context: 2, pipeline: 2") ==
        "s.yaml:5:47: training.tensor: tensor 4 x context 2 x pipeline 2 need 16 ranks, but gpus "
        "is 8");
  CHECK(training(", gpus: 8, pipeline: 2, expert: 8, expert_tensor: 1") ==
        "s.yaml:5:60: training.expert: expert 8 x expert_tensor 1 x pipeline 2 need 16 ranks, but "
        "gpus is "
        "8");
  // Whoever writes EP8 TP2 on 8 GPUs means experts that tensor parallel does not cut.
  CHECK(training(", gpus: 8, tensor: 2, expert: 8") ==
        "s.yaml:5:58: training.expert: expert 8 x expert_tensor 2 x pipeline 1 need 16 ranks, but "
        "gpus is "
        "8; expert_tensor is tensor (2) unless it is written; write expert_tensor: 1");
  CHECK(generation(", gpus: 8, tensor: 8, data: 2") ==
        "s.yaml:6:45: generation.tensor: tensor 8 x pipeline 1 x data 2 need 16 ranks, but gpus is "
        "8");
  CHECK(generation(", gpus: 8, tensor: 3") ==
        "s.yaml:6:45: generation.tensor: tensor x prefill_context x pipeline x data: an engine of "
        "3 ranks does not divide 8 ranks; use 2 or 4");
  CHECK(generation(", gpus: 8, tensor: 2, engines: 2") ==
        "s.yaml:6:57: generation.engines: 2 engines of 2 ranks are 4 GPUs, but gpus is 8; make "
        "them equal");
}

TEST_CASE("a degree that a tensor can't be cut by is blamed on its side", "[scenarios][errors]") {
  const auto sides = [](const char* training, const char* generation) {
    return error_of(
        std::string("scenario: s\ncluster: {catalog: dgx_h100, nodes: 7}\nmodel: qwen3-30b-a3b\n") +
        "training: {engine: megatron, gpus: 24, " + training + "}\n" +
        "generation: {engine: vllm, gpus: 24, " + generation + "}\n");
  };
  // 32 query heads over 3 ranks.
  CHECK(sides("tensor: 3, expert_tensor: 1", "tensor: 1") ==
        "s.yaml:4:48: training.tensor: 3 does not divide 32 attention heads; use 2 or 4");
  CHECK(sides("tensor: 1", "tensor: 24") ==
        "s.yaml:5:46: generation.tensor: 24 does not divide 32 attention heads; use 16 or 32");
  // 768 columns of an expert over 9 ranks; over 24 they divide.
  CHECK(
      error_of(scenario(", gpus: 9, expert_tensor: 9", ", gpus: 8"))
          .find(
              "s.yaml:5:54: training.expert_tensor: model.layers.0.mlp.experts.{expert}.gate_proj."
              "weight can't be cut by 9 ranks: ") == 0);
  CHECK(sides("expert_tensor: 24", "tensor: 8") == "read without an error");
}

TEST_CASE("layers divide over the stages", "[scenarios][errors]") {
  CHECK(training(", gpus: 10, pipeline: 5") ==
        "s.yaml:5:50: training.pipeline: 48 layers do not divide evenly over 5 stages; set "
        "first_stage_layers and last_stage_layers so that the rest does, such as 9 and 9");
  CHECK(training(", gpus: 8, pipeline: 4, first_stage_layers: 10") ==
        "s.yaml:5:49: training.pipeline: 38 layers that are left for the middle do not divide "
        "evenly over "
        "3 stages; set first_stage_layers and last_stage_layers so that the rest does, such as 12 "
        "and 12");
  CHECK(training(", gpus: 8, pipeline: 4, first_stage_layers: 49") ==
        "s.yaml:5:72: training.first_stage_layers: expected an integer from 0 to 48, got '49'");
  CHECK(training(", gpus: 8, first_stage_layers: 24, last_stage_layers: 24") ==
        "s.yaml:5:82: training.last_stage_layers: the first stage is the last one; use a pipeline "
        "of 2 or "
        "more");
  CHECK(training(", gpus: 8, pipeline: 2, stage_layers: [24, 23]") ==
        "s.yaml:5:66: training.stage_layers: 2 stages with 47 layers are written out, but pipeline "
        "is 2 "
        "and the model has 48 layers");
  CHECK(training(", gpus: 8, pipeline: 2, stage_layers: [16, 16, 16]") ==
        "s.yaml:5:66: training.stage_layers: 3 stages are written out, but pipeline is 2; make "
        "them equal");
  CHECK(training(", gpus: 8, pipeline: 2, stage_layers: [24, 24], first_stage_layers: 24") ==
        "s.yaml:5:96: training.first_stage_layers: stage_layers already says where stages begin; "
        "leave one out");
  CHECK(training(", gpus: 8, pipeline: 2, stage_layers: 24") ==
        "s.yaml:5:66: training.stage_layers: expected a list, got '24'");
  CHECK(error_of("scenario: s\ncluster: {catalog: dgx_h100, nodes: 8}\nmodel: qwen3-8b\n"
                 "training: {engine: megatron, gpus: 1}\n"
                 "generation: {engine: vllm, gpus: 40, pipeline: 40}\n") ==
        "s.yaml:5:48: generation.pipeline: 40 stages for 36 layers; use 1 to 36");
}

TEST_CASE("a dense model has nothing to divide by expert", "[scenarios][errors]") {
  CHECK(training(", gpus: 8, expert: 2", "qwen3-8b") ==
        "s.yaml:5:47: training.expert: qwen3-8b has no routed experts; leave this out");
  CHECK(training(", gpus: 8, expert_tensor: 2", "qwen3-8b") ==
        "s.yaml:5:54: training.expert_tensor: qwen3-8b has no routed experts; leave this out");
  CHECK(generation(", gpus: 8, expert_parallel: true", "qwen3-8b") ==
        "s.yaml:6:54: generation.expert_parallel: qwen3-8b has no routed experts; leave this out");
  CHECK(training(", gpus: 8, expert: 1, expert_tensor: 1", "qwen3-8b") == "read without an error");
}

}  // namespace refit::test
