#include "scenarios/import/nemo_rl_sides.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/shown.h"

namespace refit {
namespace {

constexpr std::int64_t kMost = 1'000'000;

// Copies an integer if it is there; what it is.
std::int64_t copy_degree(HydraConfig& recipe, ImportedPart& part, const char* key,
                         const std::string& path) {
  const auto value = recipe.find(path);
  if (!value) return 1;
  const std::int64_t degree = value->integer(1, kMost);
  set_key(part, key, fmt::format("{}", degree), path);
  return degree;
}

void copy_flag(HydraConfig& recipe, ImportedPart& part, const char* key, const std::string& path) {
  if (recipe.flag(path, false)) set_key(part, key, "true", path);
}

// PyTorch's name of a type as a format of ours; bf16 is what models have anyway.
void set_precision(ImportedPart& part, const HydraValue& value) {
  const std::string& word = value.text;
  if (word == "bfloat16" || word == "bf16" || word == "auto") return;
  if (word == "float16" || word == "fp16" || word == "half")
    return set_key(part, "precision", "fp16", value.path);
  if (word == "float32" || word == "fp32") return set_key(part, "precision", "fp32", value.path);
  value.fail(
      fmt::format("unknown precision '{}'; known are bfloat16, float16, float32", shown(word)));
}

void read_megatron_stages(HydraConfig& recipe, ImportedPart& part) {
  const std::string cfg = "policy.megatron_cfg.";
  const auto copy_layers = [&](const char* key, const std::string& path) {
    if (const auto value = recipe.find(path))
      set_key(part, key, fmt::format("{}", value->integer(0, 100'000)), path);
  };
  copy_layers("first_stage_layers", cfg + "num_layers_in_first_pipeline_stage");
  copy_layers("last_stage_layers", cfg + "num_layers_in_last_pipeline_stage");
  if (const auto layout = recipe.find(cfg + "pipeline_model_parallel_layout"))
    set_key(part, "pipeline_layout", yaml_text(layout->text), layout->path);
  if (const auto chunks = recipe.find(cfg + "virtual_pipeline_model_parallel_size"))
    set_key(part, "virtual_pipeline", fmt::format("{}", chunks->integer(1, kMost)), chunks->path);
  copy_flag(recipe, part, "account_for_embedding", cfg + "account_for_embedding_in_pipeline_split");
  copy_flag(recipe, part, "account_for_loss", cfg + "account_for_loss_in_pipeline_split");
}

// Weights are kept in FP8 only with fp8_param; otherwise FP8 is how they are multiplied.
void read_megatron_fp8(HydraConfig& recipe, Imported& out) {
  const std::string cfg = "policy.megatron_cfg.fp8_cfg.";
  if (!recipe.flag(cfg + "enabled", false)) return;
  if (!recipe.flag(cfg + "fp8_param", false)) {
    out.assumptions.push_back("training multiplies in FP8 but keeps BF16 weights (fp8_param)");
    return;
  }
  const auto kind = recipe.find(cfg + "fp8_recipe");
  const std::string word = kind ? kind->text : "blockwise";
  if (word == "blockwise" || word == "mxfp8") {
    set_key(out.training, "precision", word == "mxfp8" ? "mxfp8" : "fp8_blockwise",
            cfg + "fp8_param");
  } else {
    out.left_out.push_back(
        fmt::format("{}fp8_recipe: {} has scales that no scenario knows", cfg, word));
  }
}

void read_megatron(HydraConfig& recipe, Imported& out) {
  const std::string cfg = "policy.megatron_cfg.";
  ImportedPart& part = out.training;
  set_key(part, "engine", "megatron", cfg + "enabled");
  copy_degree(recipe, part, "tensor", cfg + "tensor_model_parallel_size");
  copy_degree(recipe, part, "pipeline", cfg + "pipeline_model_parallel_size");
  copy_degree(recipe, part, "context", cfg + "context_parallel_size");
  copy_degree(recipe, part, "expert", cfg + "expert_model_parallel_size");
  copy_degree(recipe, part, "expert_tensor", cfg + "expert_tensor_parallel_size");
  if (!recipe.find(cfg + "expert_tensor_parallel_size"))
    out.assumptions.push_back("no expert_tensor_parallel_size: Megatron takes that of tensor");
  read_megatron_stages(recipe, part);
  set_key(part, "vocab_padding", "bridge", "NeMo RL loads models through Megatron-Bridge");
  read_megatron_fp8(recipe, out);
  if (recipe.flag(cfg + "distributed_data_parallel_config.use_custom_fsdp", false))
    out.left_out.push_back(
        cfg +
        "distributed_data_parallel_config.use_custom_fsdp: ranks would hold pieces of flat "
        "buffers; --set training.engine=megatron_fsdp");
}

void read_dtensor(HydraConfig& recipe, Imported& out) {
  const std::string cfg = "policy.dtensor_cfg.";
  ImportedPart& part = out.training;
  const bool is_automodel = recipe.flag(cfg + "_v2", false);
  set_key(part, "engine", is_automodel ? "automodel" : "fsdp",
          is_automodel ? cfg + "_v2: NeMo Automodel" : cfg + "enabled");
  copy_degree(recipe, part, "tensor", cfg + "tensor_parallel_size");
  copy_degree(recipe, part, "context", cfg + "context_parallel_size");
  copy_degree(recipe, part, "expert", cfg + "expert_parallel_size");
  copy_degree(recipe, part, "pipeline", cfg + "pipeline_parallel_size");
  copy_degree(recipe, part, "replicate", cfg + "dp_replicate_size");
  if (const auto plan = recipe.find(cfg + "custom_parallel_plan"))
    out.left_out.push_back(fmt::format("{}: {}; the usual plan is taken", plan->path, plan->text));
}

// NeMo RL's own words for FP8 rollouts, and layers that stay as they are.
void read_vllm_precision(HydraConfig& recipe, Imported& out) {
  const std::string cfg = "policy.generation.vllm_cfg.";
  const bool is_mx = recipe.flag(cfg + "is_mx", false);
  auto value = recipe.find(cfg + "precision");
  if (!value || value->text == "auto") value = recipe.find("policy.precision");
  if (!value) return;
  if (value->text != "fp8") return set_precision(out.generation, *value);
  const std::string format = is_mx ? "mxfp8" : "fp8_blockwise";
  const std::string source = is_mx ? cfg + "precision: fp8 with is_mx" : cfg + "precision: fp8";
  const std::vector<std::string> kept = recipe.words(cfg + "quantization_ignored_layer_kws");
  if (kept.empty()) return set_key(out.generation, "precision", format, source);

  // Words are parts of names; here roles say the same where they are of whole roles.
  bool keeps_attention = false;
  std::vector<std::string> others;
  for (const std::string& word : kept) {
    const bool is_attention = word == "q_proj" || word == "k_proj" || word == "v_proj" ||
                              word == "o_proj" || word == "a_proj" || word == "b_proj" ||
                              word.find("attn") != std::string::npos;
    keeps_attention |= is_attention;
    if (!is_attention) others.push_back(word);
  }
  const std::string path = cfg + "quantization_ignored_layer_kws";
  if (!others.empty()) out.left_out.push_back(fmt::format("{}: {}", path, fmt::join(others, ", ")));
  if (!keeps_attention) return set_key(out.generation, "precision", format, source);
  set_key(out.generation, "precision",
          fmt::format("{{format: {}, roles: [routed_expert, shared_expert, dense_ffn]}}", format),
          source);
  out.assumptions.push_back(
      fmt::format("attention stays unquantised as a whole ({}: {})", path, fmt::join(kept, ", ")));
}

void read_vllm(HydraConfig& recipe, Imported& out) {
  const std::string cfg = "policy.generation.vllm_cfg.";
  ImportedPart& part = out.generation;
  set_key(part, "engine", "vllm", "policy.generation.backend");
  const std::int64_t tensor = copy_degree(recipe, part, "tensor", cfg + "tensor_parallel_size");
  copy_degree(recipe, part, "pipeline", cfg + "pipeline_parallel_size");
  if (const auto expert = recipe.find(cfg + "expert_parallel_size")) {
    const std::int64_t ranks = expert->integer(1, kMost);
    // vLLM divides experts over data x tensor ranks of one engine; 1 is its expert parallelism off.
    if (ranks > 1) {
      if (ranks % tensor != 0)
        expert->fail(
            fmt::format("{} is no multiple of tensor_parallel_size {}; vLLM divides "
                        "experts among whole engines",
                        ranks, tensor));
      set_key(part, "data", fmt::format("{}", ranks / tensor),
              expert->path + " over tensor_parallel_size");
      set_key(part, "expert_parallel", "true", expert->path);
    }
  }
  for (const char* name : {"num_first_layers_in_bf16", "num_last_layers_in_bf16"}) {
    const auto layers = recipe.find(cfg + name);
    if (layers && layers->integer(0, kMost) > 0)
      out.left_out.push_back(
          fmt::format("{}: {}; all layers are taken alike", layers->path, layers->text));
  }
  read_vllm_precision(recipe, out);
}

void read_sglang(HydraConfig& recipe, Imported& out) {
  const std::string cfg = "policy.generation.sglang_cfg.";
  ImportedPart& part = out.generation;
  set_key(part, "engine", "sglang", "policy.generation.backend");
  const std::int64_t pipeline =
      std::max(copy_degree(recipe, part, "pipeline", cfg + "pp_size"), std::int64_t{1});
  const auto server = recipe.find(cfg + "gpus_per_server");
  if (const auto tensor = recipe.find(cfg + "tp_size")) {
    set_key(part, "tensor", fmt::format("{}", tensor->integer(1, kMost)), tensor->path);
  } else if (server) {
    const std::int64_t gpus = server->integer(1, kMost);
    if (gpus % pipeline != 0)
      server->fail(fmt::format("{} is no multiple of pp_size {}", gpus, pipeline));
    set_key(part, "tensor", fmt::format("{}", gpus / pipeline), server->path + " over pp_size");
  }
  copy_degree(recipe, part, "expert", cfg + "ep_size");
  const auto data = recipe.find(cfg + "dp_size");
  if (data && data->integer(1, kMost) > 1) {
    if (recipe.flag(cfg + "enable_dp_attention", false)) {
      set_key(part, "attention_data", fmt::format("{}", data->integer(1, kMost)), data->path);
    } else {
      out.left_out.push_back(
          fmt::format("{}: {} copies inside one server; they are engines of their own here",
                      data->path, data->text));
    }
  }
  copy_flag(recipe, part, "dp_lm_head", cfg + "enable_dp_lm_head");
  if (const auto precision = recipe.find("policy.precision")) set_precision(part, *precision);
}

// Megatron generates with the training's degrees, unless told otherwise.
void read_megatron_generation(HydraConfig& recipe, Imported& out) {
  const std::string cfg = "policy.generation.mcore_generation_config.";
  ImportedPart& part = out.generation;
  set_key(part, "engine", "megatron", "policy.generation.backend");
  static constexpr struct {
    const char* key;
    const char* name;
  } kDegrees[] = {{"tensor", "tensor_model_parallel_size"},
                  {"pipeline", "pipeline_model_parallel_size"},
                  {"context", "context_parallel_size"},
                  {"expert", "expert_model_parallel_size"},
                  {"expert_tensor", "expert_tensor_parallel_size"}};
  if (const auto service = recipe.find(cfg + "refit_backend"))
    out.assumptions.push_back(fmt::format("Megatron's own refit copies by {}", service->text));
  bool says_pipeline = false;
  for (const auto& [key, name] : kDegrees) {
    if (recipe.find(cfg + name)) {
      copy_degree(recipe, part, key, cfg + name);
      says_pipeline |= std::string(key) == "pipeline";
    } else if (const ImportedKey* same = find_key(out.training, key)) {
      set_key(part, key, same->value, "as training");
    }
  }
  for (const char* key : {"first_stage_layers", "last_stage_layers", "vocab_padding"}) {
    const ImportedKey* same = find_key(out.training, key);
    const bool is_of_stages = std::string(key) != "vocab_padding";
    if (same != nullptr && !(says_pipeline && is_of_stages))
      set_key(part, key, same->value, "as training");
  }
  if (const auto precision = recipe.find("policy.precision")) set_precision(part, *precision);
}

}  // namespace

void read_nemo_rl_training(HydraConfig& recipe, Imported& out) {
  const auto megatron = recipe.find("policy.megatron_cfg.enabled");
  const auto dtensor = recipe.find("policy.dtensor_cfg.enabled");
  const bool is_megatron = megatron && megatron->boolean();
  const bool is_dtensor = dtensor && dtensor->boolean();
  if (is_megatron && is_dtensor)
    megatron->fail("policy.dtensor_cfg.enabled is true, too; one of them trains");
  if (!is_megatron && !is_dtensor)
    throw Error(ErrorCode::bad_input,
                fmt::format("{}: neither policy.megatron_cfg.enabled nor "
                            "policy.dtensor_cfg.enabled is true; one of them trains",
                            out.file));
  if (is_megatron) read_megatron(recipe, out);
  if (is_dtensor) read_dtensor(recipe, out);
  if (find_key(out.training, "precision") == nullptr) {
    if (const auto precision = recipe.find("policy.precision"))
      set_precision(out.training, *precision);
  }
}

void read_nemo_rl_generation(HydraConfig& recipe, Imported& out) {
  const auto backend = recipe.find("policy.generation.backend");
  const std::string word = backend ? backend->text : "vllm";
  if (word == "vllm" || word == "dynamo") return read_vllm(recipe, out);
  if (word == "sglang") return read_sglang(recipe, out);
  if (word == "megatron") return read_megatron_generation(recipe, out);
  backend->fail(fmt::format("no layout is known of '{}'; known are vllm, dynamo, sglang, megatron",
                            shown(word)));
}

}  // namespace refit
