#include "checks/nemo_rl_rules.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace refit {
namespace {

// Its scales come from training, by a path that only some set-ups have.
void require_kv_cache(const NemoRlCase& c, NemoRlRules& rules) {
  if (c.runtime.kv_cache != "fp8") return;
  const auto require = [&](bool holds, const char* rule, std::string message, const char* cure) {
    rules.require(holds, rule, "policy.generation.vllm_cfg.kv_cache_dtype",
                  "is fp8, and " + std::move(message), fmt::format("use {}, or auto", cure));
  };
  require(is_fp8(c.generation.precision), "kv_cache_precision",
          fmt::format("generation holds weights in {}", c.generation.precision),
          "vllm_cfg.precision: fp8");
  require(!is_one_of(c.training.engine, {"fsdp", "automodel"}), "kv_cache_training",
          fmt::format("the training engine is {}", c.training.engine), "Megatron");
  require(!c.runtime.async_rollouts, "kv_cache_async", "rollouts are asynchronous",
          "synchronous ones");
  require(c.training.pipeline == 1, "kv_cache_pipeline",
          fmt::format("training has {} stages", c.training.pipeline),
          "pipeline_model_parallel_size: 1");
}

}  // namespace

void NemoRlRules::require(bool holds, const char* rule, const char* key, std::string message,
                          std::string cure) {
  if (holds) return;
  findings_.push_back(
      {fmt::format("nemo_rl.{}.{}", transport_, rule), key, std::move(message), std::move(cure)});
}

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool is_fp8(const std::string& precision) {
  return is_one_of(precision, {"fp8_blockwise", "mxfp8"});
}

void require_general(const NemoRlCase& c, NemoRlRules& rules) {
  rules.require(!c.colocated, "colocated", "policy.generation.colocated.enabled",
                "both sides are on the same GPUs",
                "use false, with GPUs of its own for generation");
  rules.require(c.generation.engine == "vllm", "backend", "policy.generation.backend",
                fmt::format("the engine is {}", c.generation.engine), "use vllm");
  rules.require(c.runtime.refit_buffer_bytes.value_or(1) > 0, "refit_buffer",
                "policy.refit_buffer_size_gb", "is 0", "use more, or leave it out");
  rules.require(
      c.runtime.importance_sampling || !is_fp8(c.generation.precision), "importance_sampling",
      "loss_fn.use_importance_sampling_correction",
      fmt::format("is false, and generation samples with weights in {}", c.generation.precision),
      "use true");
  require_kv_cache(c, rules);
}

void require_no_encoder_reset(const NemoRlCase& c, NemoRlRules& rules) {
  rules.require(!c.runtime.reset_encoder_cache, "reset_encoder_cache",
                "policy.generation.vllm_cfg.reset_encoder_cache_after_weight_update",
                "is true, which this transport does not do",
                "use false, or refit_transport: nccl_reshard");
}

}  // namespace refit
