// One key of the recipe per test: the good case with that key changed, and the whole message.
#include "checks/nemo_rl.h"

#include <catch2/catch.hpp>

#include "tests/checks/lines.h"

namespace refit::test {
namespace {

NemoRlCase good() {
  NemoRlCase c;
  c.training.engine = "megatron";
  c.training.gpus = 16;
  c.training.tensor = 2;
  c.training.pipeline = 2;
  c.training.expert = 4;
  c.generation.engine = "vllm";
  c.generation.gpus = 8;
  c.generation.tensor = 4;
  c.generation.expert = 4;
  return c;
}

template <class Change>
Lines reshard(Change change) {
  NemoRlCase c = good();
  change(c);
  return lines(nemo_rl_reshard_findings(c));
}
template <class Change>
Lines sparse(Change change) {
  NemoRlCase c = good();
  change(c);
  return lines(nemo_rl_sparse_findings(c));
}
template <class Change>
Lines s3_sparse(Change change) {
  NemoRlCase c = good();
  change(c);
  return lines(nemo_rl_s3_sparse_findings(c));
}
template <class Change>
Lines nixl(Change change) {
  NemoRlCase c = good();
  change(c);
  return lines(nemo_rl_nixl_findings(c));
}

constexpr auto kAsIs = [](NemoRlCase&) {};

}  // namespace

TEST_CASE("nemo_rl: the good case of this file is good for all", "[checks][nemo_rl]") {
  CHECK(reshard(kAsIs) == Lines{});
  CHECK(sparse(kAsIs) == Lines{});
  CHECK(s3_sparse([](NemoRlCase& c) { c.runtime.s3_bucket = "deltas"; }) == Lines{});
  CHECK(nixl(kAsIs) == Lines{});
}

TEST_CASE("nemo_rl reshard: sides on the same GPUs are refused", "[checks][nemo_rl]") {
  CHECK(reshard([](NemoRlCase& c) { c.colocated = true; }) ==
        Lines{"nemo_rl.nccl_reshard.colocated: policy.generation.colocated.enabled: both sides are "
              "on the same GPUs; use false, with GPUs of its own for generation"});
}

TEST_CASE("nemo_rl reshard: generation is vLLM", "[checks][nemo_rl]") {
  CHECK(reshard([](NemoRlCase& c) { c.generation.engine = "sglang"; }) ==
        Lines{"nemo_rl.nccl_reshard.backend: policy.generation.backend: the engine is sglang; use "
              "vllm"});
}

TEST_CASE("nemo_rl reshard: experts that move at run time are refused", "[checks][nemo_rl]") {
  CHECK(
      reshard([](NemoRlCase& c) { c.generation.redundant_experts = true; }) ==
      Lines{"nemo_rl.nccl_reshard.eplb: policy.generation.vllm_kwargs.enable_eplb: experts move at "
            "run time, and the expert map is frozen at set-up; use false"});
}

TEST_CASE("nemo_rl reshard: a load balancer of experts is refused without copies, too",
          "[checks][nemo_rl]") {
  CHECK(
      reshard([](NemoRlCase& c) { c.runtime.eplb = true; }) ==
      Lines{"nemo_rl.nccl_reshard.eplb: policy.generation.vllm_kwargs.enable_eplb: experts move at "
            "run time, and the expert map is frozen at set-up; use false"});
}

TEST_CASE("nemo_rl reshard and sparse: generation does not quantise by itself",
          "[checks][nemo_rl]") {
  const auto real_quant = [](NemoRlCase& c) { c.runtime.real_quant = true; };
  CHECK(reshard(real_quant) == Lines{"nemo_rl.nccl_reshard.real_quant: "
                                     "policy.generation.real_quant: is true; use false"});
  CHECK(sparse(real_quant) ==
        Lines{"nemo_rl.sparse.real_quant: policy.generation.real_quant: is true; use false"});
  CHECK(nixl(real_quant) == Lines{});
}

TEST_CASE("nemo_rl reshard: training is Megatron", "[checks][nemo_rl]") {
  CHECK(reshard([](NemoRlCase& c) { c.training.engine = "fsdp"; }) ==
        Lines{"nemo_rl.nccl_reshard.training_engine: policy.megatron_cfg.enabled: the training "
              "engine is fsdp; use true, and policy.dtensor_cfg.enabled: false"});
}

TEST_CASE("nemo_rl reshard: an expert is whole on a training rank", "[checks][nemo_rl]") {
  CHECK(
      reshard([](NemoRlCase& c) { c.training.expert_tensor = 2; }) ==
      Lines{"nemo_rl.nccl_reshard.expert_tensor: policy.megatron_cfg.expert_tensor_parallel_size: "
            "experts are cut by 2; use 1"});
}

TEST_CASE("nemo_rl reshard: stages are not written out", "[checks][nemo_rl]") {
  CHECK(
      reshard([](NemoRlCase& c) { c.training.written_pipeline = true; }) ==
      Lines{"nemo_rl.nccl_reshard.pipeline_layout: "
            "policy.megatron_cfg.pipeline_model_parallel_layout: a layout is written out; leave it "
            "out; use num_layers_in_first/last_pipeline_stage"});
}

TEST_CASE("nemo_rl reshard: a training rank has one model chunk", "[checks][nemo_rl]") {
  CHECK(reshard([](NemoRlCase& c) { c.training.virtual_pipeline = 2; }) ==
        Lines{"nemo_rl.nccl_reshard.virtual_pipeline: "
              "policy.megatron_cfg.virtual_pipeline_model_parallel_size: 2 model chunks per rank; "
              "use 1"});
}

TEST_CASE("nemo_rl reshard: embedding and loss do not count as layers", "[checks][nemo_rl]") {
  CHECK(reshard([](NemoRlCase& c) { c.training.accounts_embedding = true; }) ==
        Lines{"nemo_rl.nccl_reshard.account_for_embedding: "
              "policy.megatron_cfg.account_for_embedding_in_pipeline_split: is true; use false"});
  CHECK(reshard([](NemoRlCase& c) { c.training.accounts_loss = true; }) ==
        Lines{"nemo_rl.nccl_reshard.account_for_loss: "
              "policy.megatron_cfg.account_for_loss_in_pipeline_split: is true; use false"});
}

TEST_CASE("nemo_rl reshard: generation holds BF16 or FP8", "[checks][nemo_rl]") {
  CHECK(reshard([](NemoRlCase& c) { c.generation.precision = "fp16"; }) ==
        Lines{"nemo_rl.nccl_reshard.precision: policy.generation.vllm_cfg.precision: is fp16; use "
              "bfloat16 or fp8"});
}

TEST_CASE("nemo_rl reshard: blockwise FP8 is on both sides or on none", "[checks][nemo_rl]") {
  CHECK(reshard([](NemoRlCase& c) { c.generation.precision = "fp8_blockwise"; }) ==
        Lines{"nemo_rl.nccl_reshard.fp8_param: policy.megatron_cfg.fp8_cfg.fp8_param: generation "
              "takes blockwise FP8 and training holds bf16; use fp8_param: true with fp8_recipe: "
              "blockwise"});
  CHECK(reshard([](NemoRlCase& c) { c.training.precision = "fp8_blockwise"; }) ==
        Lines{"nemo_rl.nccl_reshard.fp8_generation: policy.generation.vllm_cfg.precision: training "
              "holds FP8 and generation takes bf16; use fp8"});
  CHECK(reshard([](NemoRlCase& c) {
          c.training.precision = c.generation.precision = "fp8_blockwise";
        }) == Lines{});
}

TEST_CASE("nemo_rl reshard: FP8 of either kind in training asks for FP8 in generation",
          "[checks][nemo_rl]") {
  CHECK(reshard([](NemoRlCase& c) { c.training.precision = "mxfp8"; }) ==
        Lines{"nemo_rl.nccl_reshard.fp8_generation: policy.generation.vllm_cfg.precision: training "
              "holds FP8 and generation takes bf16; use fp8"});
  // fp8 it is, of the wrong kind.
  CHECK(reshard([](NemoRlCase& c) {
          c.training.precision = "mxfp8";
          c.generation.precision = "fp8_blockwise";
        }) ==
        Lines{"nemo_rl.nccl_reshard.fp8_param: policy.megatron_cfg.fp8_cfg.fp8_param: generation "
              "takes blockwise FP8 and training holds mxfp8; use fp8_param: true with fp8_recipe: "
              "blockwise"});
  CHECK(reshard([](NemoRlCase& c) {
          c.training.precision = "fp8_blockwise";
          c.generation.precision = "mxfp8";
        }) ==
        Lines{"nemo_rl.nccl_reshard.mxfp8: policy.precision: the receiver quantises to MXFP8 from "
              "BF16, and training holds fp8_blockwise; use bfloat16 and fp8_param: false"});
}

TEST_CASE("nemo_rl reshard: the receiver makes MXFP8 of BF16 only", "[checks][nemo_rl]") {
  CHECK(reshard([](NemoRlCase& c) { c.generation.precision = "mxfp8"; }) == Lines{});
  CHECK(reshard([](NemoRlCase& c) {
          c.generation.precision = "mxfp8";
          c.training.precision = "fp16";
        }) ==
        Lines{"nemo_rl.nccl_reshard.mxfp8: policy.precision: the receiver quantises to MXFP8 from "
              "BF16, and training holds fp16; use bfloat16 and fp8_param: false"});
}

TEST_CASE("nemo_rl reshard: expert parallel is 1 or tensor parallel", "[checks][nemo_rl]") {
  CHECK(reshard([](NemoRlCase& c) { c.generation.expert = 1; }) == Lines{});
  CHECK(reshard([](NemoRlCase& c) { c.generation.expert = 8; }) ==
        Lines{"nemo_rl.nccl_reshard.expert_parallel: "
              "policy.generation.vllm_cfg.expert_parallel_size: is 8 with tensor_parallel_size 4; "
              "use 1 or 4"});
}

TEST_CASE("nemo_rl reshard: the engine has one stage", "[checks][nemo_rl]") {
  CHECK(reshard([](NemoRlCase& c) { c.generation.pipeline = 2; }) ==
        Lines{"nemo_rl.nccl_reshard.generation_pipeline: "
              "policy.generation.vllm_cfg.pipeline_parallel_size: is 2; use 1"});
}

TEST_CASE("nemo_rl reshard: all that is wrong is said at once", "[checks][nemo_rl]") {
  CHECK(reshard([](NemoRlCase& c) {
          c.colocated = true;
          c.training.virtual_pipeline = 4;
          c.generation.pipeline = 2;
        }).size() == 3);
}

TEST_CASE("nemo_rl sparse: GPUs of its own, vLLM, Megatron, nothing quantised",
          "[checks][nemo_rl]") {
  CHECK(
      sparse([](NemoRlCase& c) { c.colocated = true; }) ==
      Lines{"nemo_rl.sparse.colocated: policy.generation.colocated.enabled: both sides are on the "
            "same GPUs; use false, with GPUs of its own for generation"});
  CHECK(sparse([](NemoRlCase& c) { c.generation.engine = "sglang"; }) ==
        Lines{"nemo_rl.sparse.backend: policy.generation.backend: the engine is sglang; use vllm"});
  CHECK(sparse([](NemoRlCase& c) { c.training.engine = "fsdp"; }) ==
        Lines{"nemo_rl.sparse.training_engine: policy.megatron_cfg.enabled: the training engine is "
              "fsdp; use true, and policy.dtensor_cfg.enabled: false"});
  CHECK(
      sparse([](NemoRlCase& c) { c.generation.precision = "fp8_blockwise"; }) ==
      Lines{"nemo_rl.sparse.precision: policy.generation.vllm_cfg.precision: is fp8_blockwise, and "
            "deltas are of unquantised weights; use bfloat16"});
  // Model chunks and stages do not matter to it.
  CHECK(sparse([](NemoRlCase& c) {
          c.training.virtual_pipeline = 4;
          c.generation.pipeline = 2;
        }) == Lines{});
}

TEST_CASE("nemo_rl nixl: every generation rank has a training rank of its number",
          "[checks][nemo_rl]") {
  CHECK(nixl([](NemoRlCase& c) { c.generation.gpus = 16; }) == Lines{});
  CHECK(nixl([](NemoRlCase& c) { c.generation.gpus = 17; }) ==
        Lines{"nemo_rl.nixl.ranks: cluster sizes: 16 training ranks are paired with 17 generation "
              "ranks, one with one; use at least 17 training GPUs"});
  CHECK(nixl([](NemoRlCase& c) { c.colocated = true; }) ==
        Lines{"nemo_rl.nixl.colocated: policy.generation.colocated.enabled: both sides are on the "
              "same GPUs; use false, with GPUs of its own for generation"});
  CHECK(nixl([](NemoRlCase& c) { c.generation.engine = "sglang"; }) ==
        Lines{"nemo_rl.nixl.backend: policy.generation.backend: the engine is sglang; use vllm"});
}

TEST_CASE("nemo_rl sparse: GRPO only", "[checks][nemo_rl]") {
  CHECK(sparse([](NemoRlCase& c) { c.runtime.algorithm = "dapo"; }) ==
        Lines{"nemo_rl.sparse.algorithm: algorithm: is dapo; use grpo"});
  CHECK(nixl([](NemoRlCase& c) { c.runtime.algorithm = "dapo"; }) == Lines{});
}

TEST_CASE("nemo_rl sparse: no quantisation of its own", "[checks][nemo_rl]") {
  CHECK(sparse([](NemoRlCase& c) { c.runtime.quant_cfg = true; }) ==
        Lines{"nemo_rl.sparse.quant_cfg: policy.generation.quant_cfg: is set; leave it out"});
}

TEST_CASE("nemo_rl sparse: an object store needs a bucket", "[checks][nemo_rl]") {
  CHECK(s3_sparse(kAsIs) ==
        Lines{"nemo_rl.s3_sparse.bucket: policy.generation.refit_cfg.sparse.storage.s3_bucket: is "
              "empty; name a bucket (runtime.s3_bucket)"});
  // And all that the other transport of deltas needs.
  CHECK(s3_sparse([](NemoRlCase& c) {
          c.runtime.quant_cfg = true;
          c.runtime.algorithm = "dapo";
        }).size() == 3);
}

TEST_CASE("nemo_rl sparse and nixl: caches of encoders are not reset", "[checks][nemo_rl]") {
  const auto reset = [](NemoRlCase& c) { c.runtime.reset_encoder_cache = true; };
  CHECK(sparse(reset) ==
        Lines{"nemo_rl.sparse.reset_encoder_cache: "
              "policy.generation.vllm_cfg.reset_encoder_cache_after_weight_update: is true, which "
              "this transport does not do; use false, or refit_transport: nccl_reshard"});
  CHECK(nixl(reset).size() == 1);
  CHECK(reshard(reset) == Lines{});
}

TEST_CASE("nemo_rl: a buffer for refits has bytes", "[checks][nemo_rl]") {
  const auto none = [](NemoRlCase& c) { c.runtime.refit_buffer_bytes = 0; };
  CHECK(reshard(none) == Lines{"nemo_rl.nccl_reshard.refit_buffer: policy.refit_buffer_size_gb: is "
                               "0; use more, or leave it out"});
  CHECK(sparse(none).size() == 1);
  CHECK(nixl(none).size() == 1);
  CHECK(reshard([](NemoRlCase& c) { c.runtime.refit_buffer_bytes = 1; }) == Lines{});
}

TEST_CASE("nemo_rl: the loss corrects for generation in FP8", "[checks][nemo_rl]") {
  const auto uncorrected = [](NemoRlCase& c) { c.runtime.importance_sampling = false; };
  CHECK(reshard(uncorrected) == Lines{});
  CHECK(nixl([&](NemoRlCase& c) {
          uncorrected(c);
          c.generation.precision = "mxfp8";
        }) ==
        Lines{"nemo_rl.nixl.importance_sampling: loss_fn.use_importance_sampling_correction: is "
              "false, and generation samples with weights in mxfp8; use true"});
}

TEST_CASE(
    "nemo_rl: a KV cache in FP8 asks for weights in FP8, no DTensor, no asynchronous rollouts "
    "and one stage",
    "[checks][nemo_rl]") {
  const auto taken = [](NemoRlCase& c) {
    c.runtime.kv_cache = "fp8";
    c.generation.precision = "mxfp8";
    c.training.pipeline = 1;
  };
  const auto said = [&](auto change) {
    return nixl([&](NemoRlCase& c) {
      taken(c);
      change(c);
    });
  };
  const std::string subject = "policy.generation.vllm_cfg.kv_cache_dtype: is fp8, and ";
  CHECK(said(kAsIs) == Lines{});
  CHECK(reshard(taken) == Lines{});
  CHECK(said([](NemoRlCase& c) { c.generation.precision = "bf16"; }) ==
        Lines{"nemo_rl.nixl.kv_cache_precision: " + subject +
              "generation holds weights in bf16; use vllm_cfg.precision: fp8, or auto"});
  CHECK(said([](NemoRlCase& c) { c.training.engine = "automodel"; }) ==
        Lines{"nemo_rl.nixl.kv_cache_training: " + subject +
              "the training engine is automodel; use Megatron, or auto"});
  CHECK(said([](NemoRlCase& c) { c.runtime.async_rollouts = true; }) ==
        Lines{"nemo_rl.nixl.kv_cache_async: " + subject +
              "rollouts are asynchronous; use synchronous ones, or auto"});
  CHECK(said([](NemoRlCase& c) { c.training.pipeline = 2; }) ==
        Lines{"nemo_rl.nixl.kv_cache_pipeline: " + subject +
              "training has 2 stages; use pipeline_model_parallel_size: 1, or auto"});
}

TEST_CASE("nemo_rl sparse: no KV cache in FP8", "[checks][nemo_rl]") {
  CHECK(
      sparse([](NemoRlCase& c) {
        c.runtime.kv_cache = "fp8";
        c.generation.precision = "mxfp8";
        c.training.pipeline = 1;
      }) ==
      Lines{"nemo_rl.sparse.precision: policy.generation.vllm_cfg.precision: is mxfp8, and deltas "
            "are of unquantised weights; use bfloat16",
            "nemo_rl.sparse.kv_cache: policy.generation.vllm_cfg.kv_cache_dtype: is fp8; use "
            "auto"});
}

}  // namespace refit::test
