#include "checks/nemo_rl.h"

#include <fmt/format.h>

namespace refit {
namespace {

class Rules {
 public:
  explicit Rules(const char* runtime) : runtime_(runtime) {}

  // `holds`, or a finding about `key`.
  void require(bool holds, const char* rule, const char* key, std::string message,
               std::string cure) {
    if (holds) return;
    findings_.push_back(
        {fmt::format("{}.{}", runtime_, rule), key, std::move(message), std::move(cure)});
  }

  Findings take() && { return std::move(findings_); }

 private:
  const char* runtime_;
  Findings findings_;
};

bool is_one_of(const std::string& word, std::initializer_list<const char*> words) {
  for (const char* w : words) {
    if (word == w) return true;
  }
  return false;
}

}  // namespace

Findings nemo_rl_reshard_findings(const NemoRlCase& c) {
  Rules rules("nemo_rl.nccl_reshard");
  const SideFacts& t = c.training;
  const SideFacts& g = c.generation;
  rules.require(!c.colocated, "colocated", "policy.generation.colocated.enabled",
                "both sides are on the same GPUs",
                "use false, with GPUs of its own for generation");
  rules.require(g.engine == "vllm", "backend", "policy.generation.backend",
                fmt::format("the engine is {}", g.engine), "use vllm");
  rules.require(!g.redundant_experts, "eplb", "policy.generation.vllm_kwargs.enable_eplb",
                "experts move at run time, and the expert map is frozen at set-up", "use false");
  rules.require(t.engine == "megatron", "training_engine", "policy.megatron_cfg.enabled",
                fmt::format("the training engine is {}", t.engine),
                "use true, and policy.dtensor_cfg.enabled: false");
  rules.require(t.expert_tensor == 1, "expert_tensor",
                "policy.megatron_cfg.expert_tensor_parallel_size",
                fmt::format("experts are cut by {}", t.expert_tensor), "use 1");
  rules.require(!t.written_pipeline, "pipeline_layout",
                "policy.megatron_cfg.pipeline_model_parallel_layout", "a layout is written out",
                "leave it out; use num_layers_in_first/last_pipeline_stage");
  rules.require(t.virtual_pipeline == 1, "virtual_pipeline",
                "policy.megatron_cfg.virtual_pipeline_model_parallel_size",
                fmt::format("{} model chunks per rank", t.virtual_pipeline), "use 1");
  rules.require(!t.accounts_embedding, "account_for_embedding",
                "policy.megatron_cfg.account_for_embedding_in_pipeline_split", "is true",
                "use false");
  rules.require(!t.accounts_loss, "account_for_loss",
                "policy.megatron_cfg.account_for_loss_in_pipeline_split", "is true", "use false");
  rules.require(is_one_of(g.precision, {"bf16", "fp8_blockwise", "mxfp8"}), "precision",
                "policy.generation.vllm_cfg.precision", fmt::format("is {}", g.precision),
                "use bfloat16 or fp8");
  if (g.precision == "fp8_blockwise") {
    rules.require(t.precision == "fp8_blockwise", "fp8_param",
                  "policy.megatron_cfg.fp8_cfg.fp8_param",
                  fmt::format("generation takes blockwise FP8 and training holds {}", t.precision),
                  "use fp8_param: true with fp8_recipe: blockwise");
  }
  if (g.precision == "mxfp8") {
    rules.require(is_one_of(t.precision, {"bf16"}), "mxfp8", "policy.precision",
                  fmt::format("the receiver quantises to MXFP8 from BF16, and training holds {}",
                              t.precision),
                  "use bfloat16 and fp8_param: false");
  }
  if (t.precision == "fp8_blockwise") {
    rules.require(
        g.precision == "fp8_blockwise", "fp8_generation", "policy.generation.vllm_cfg.precision",
        fmt::format("training holds FP8 and generation takes {}", g.precision), "use fp8");
  }
  rules.require(g.expert == 1 || g.expert == g.tensor, "expert_parallel",
                "policy.generation.vllm_cfg.expert_parallel_size",
                fmt::format("is {} with tensor_parallel_size {}", g.expert, g.tensor),
                fmt::format("use 1 or {}", g.tensor));
  rules.require(g.pipeline == 1, "generation_pipeline",
                "policy.generation.vllm_cfg.pipeline_parallel_size",
                fmt::format("is {}", g.pipeline), "use 1");
  return std::move(rules).take();
}

Findings nemo_rl_sparse_findings(const NemoRlCase& c) {
  Rules rules("nemo_rl.sparse");
  rules.require(!c.colocated, "colocated", "policy.generation.colocated.enabled",
                "both sides are on the same GPUs", "use false");
  const SideFacts& g = c.generation;
  rules.require(c.generation.engine == "vllm", "backend", "policy.generation.backend",
                fmt::format("the engine is {}", c.generation.engine), "use vllm");
  rules.require(c.training.engine == "megatron", "training_engine", "policy.megatron_cfg.enabled",
                fmt::format("the training engine is {}", c.training.engine), "use true");
  rules.require(g.precision != "fp8_blockwise" && g.precision != "mxfp8", "precision",
                "policy.generation.vllm_cfg.precision",
                fmt::format("is {}, and deltas are of unquantised weights", g.precision),
                "use bfloat16");
  return std::move(rules).take();
}

Findings nemo_rl_nixl_findings(const NemoRlCase& c) {
  Rules rules("nemo_rl.nixl");
  rules.require(!c.colocated, "colocated", "policy.generation.colocated.enabled",
                "both sides are on the same GPUs", "use false");
  rules.require(c.generation.engine == "vllm", "backend", "policy.generation.backend",
                fmt::format("the engine is {}", c.generation.engine), "use vllm");
  rules.require(c.training.gpus >= c.generation.gpus, "ranks", "cluster sizes",
                fmt::format("{} training ranks are paired with {} generation ranks, one with one",
                            c.training.gpus, c.generation.gpus),
                fmt::format("use at least {} training GPUs", c.generation.gpus));
  return std::move(rules).take();
}

}  // namespace refit
