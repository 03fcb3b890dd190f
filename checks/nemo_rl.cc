#include "checks/nemo_rl.h"

#include <utility>

#include <fmt/format.h>

#include "checks/nemo_rl_rules.h"

namespace refit {
namespace {

void require_megatron(const NemoRlCase& c, NemoRlRules& rules) {
  rules.require(c.training.engine == "megatron", "training_engine", "policy.megatron_cfg.enabled",
                fmt::format("the training engine is {}", c.training.engine),
                "use true, and policy.dtensor_cfg.enabled: false");
}

void require_no_real_quant(const NemoRlCase& c, NemoRlRules& rules) {
  rules.require(!c.runtime.real_quant, "real_quant", "policy.generation.real_quant", "is true",
                "use false");
}

// Where its map of layers to stages would be wrong.
void require_plain_stages(const SideFacts& training, NemoRlRules& rules) {
  rules.require(!training.written_pipeline, "pipeline_layout",
                "policy.megatron_cfg.pipeline_model_parallel_layout", "a layout is written out",
                "leave it out; use num_layers_in_first/last_pipeline_stage");
  rules.require(training.virtual_pipeline == 1, "virtual_pipeline",
                "policy.megatron_cfg.virtual_pipeline_model_parallel_size",
                fmt::format("{} model chunks per rank", training.virtual_pipeline), "use 1");
  rules.require(!training.accounts_embedding, "account_for_embedding",
                "policy.megatron_cfg.account_for_embedding_in_pipeline_split", "is true",
                "use false");
  rules.require(!training.accounts_loss, "account_for_loss",
                "policy.megatron_cfg.account_for_loss_in_pipeline_split", "is true", "use false");
}

// A side's precision says what its recipe does: training in a format of FP8 is `fp8_param: true`
// with the `fp8_recipe` of that name.
void require_precision(const std::string& training, const std::string& generation,
                       NemoRlRules& rules) {
  const char* of_generation = "policy.generation.vllm_cfg.precision";
  rules.require(is_one_of(generation, {"bf16", "fp8_blockwise", "mxfp8"}), "precision",
                of_generation, fmt::format("is {}", generation), "use bfloat16 or fp8");
  rules.require(generation != "fp8_blockwise" || training == "fp8_blockwise", "fp8_param",
                "policy.megatron_cfg.fp8_cfg.fp8_param",
                fmt::format("generation takes blockwise FP8 and training holds {}", training),
                "use fp8_param: true with fp8_recipe: blockwise");
  rules.require(
      generation != "mxfp8" || training == "bf16", "mxfp8", "policy.precision",
      fmt::format("the receiver quantises to MXFP8 from BF16, and training holds {}", training),
      "use bfloat16 and fp8_param: false");
  rules.require(!is_fp8(training) || is_fp8(generation), "fp8_generation", of_generation,
                fmt::format("training holds FP8 and generation takes {}", generation), "use fp8");
}

NemoRlRules sparse(const NemoRlCase& c, const char* transport) {
  NemoRlRules rules(transport);
  require_general(c, rules);
  require_megatron(c, rules);
  require_no_real_quant(c, rules);
  require_no_encoder_reset(c, rules);
  rules.require(c.runtime.algorithm == "grpo", "algorithm", "algorithm",
                fmt::format("is {}", c.runtime.algorithm), "use grpo");
  rules.require(!is_fp8(c.generation.precision), "precision",
                "policy.generation.vllm_cfg.precision",
                fmt::format("is {}, and deltas are of unquantised weights", c.generation.precision),
                "use bfloat16");
  rules.require(c.runtime.kv_cache != "fp8", "kv_cache",
                "policy.generation.vllm_cfg.kv_cache_dtype", "is fp8", "use auto");
  rules.require(!c.runtime.quant_cfg, "quant_cfg", "policy.generation.quant_cfg", "is set",
                "leave it out");
  return rules;
}

}  // namespace

Findings nemo_rl_reshard_findings(const NemoRlCase& c) {
  NemoRlRules rules("nccl_reshard");
  const SideFacts& t = c.training;
  const SideFacts& g = c.generation;
  require_general(c, rules);
  rules.require(!g.redundant_experts && !c.runtime.eplb, "eplb",
                "policy.generation.vllm_kwargs.enable_eplb",
                "experts move at run time, and the expert map is frozen at set-up", "use false");
  require_no_real_quant(c, rules);
  require_megatron(c, rules);
  rules.require(t.expert_tensor == 1, "expert_tensor",
                "policy.megatron_cfg.expert_tensor_parallel_size",
                fmt::format("experts are cut by {}", t.expert_tensor), "use 1");
  require_plain_stages(t, rules);
  require_precision(t.precision, g.precision, rules);
  rules.require(g.expert == 1 || g.expert == g.tensor, "expert_parallel",
                "policy.generation.vllm_cfg.expert_parallel_size",
                fmt::format("is {} with tensor_parallel_size {}", g.expert, g.tensor),
                fmt::format("use 1 or {}", g.tensor));
  rules.require(g.pipeline == 1, "generation_pipeline",
                "policy.generation.vllm_cfg.pipeline_parallel_size",
                fmt::format("is {}", g.pipeline), "use 1");
  return std::move(rules).take();
}

Findings nemo_rl_sparse_findings(const NemoRlCase& c) { return sparse(c, "sparse").take(); }

Findings nemo_rl_s3_sparse_findings(const NemoRlCase& c) {
  NemoRlRules rules = sparse(c, "s3_sparse");
  rules.require(!c.runtime.s3_bucket.empty(), "bucket",
                "policy.generation.refit_cfg.sparse.storage.s3_bucket", "is empty",
                "name a bucket (runtime.s3_bucket)");
  return std::move(rules).take();
}

Findings nemo_rl_nixl_findings(const NemoRlCase& c) {
  NemoRlRules rules("nixl");
  require_general(c, rules);
  require_no_encoder_reset(c, rules);
  rules.require(c.training.gpus >= c.generation.gpus, "ranks", "cluster sizes",
                fmt::format("{} training ranks are paired with {} generation ranks, one with one",
                            c.training.gpus, c.generation.gpus),
                fmt::format("use at least {} training GPUs", c.generation.gpus));
  return std::move(rules).take();
}

}  // namespace refit
