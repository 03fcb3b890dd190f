#include "scenarios/import/nemo_rl.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/shown.h"
#include "scenarios/import/nemo_rl_sides.h"

namespace refit {
namespace {

constexpr std::int64_t kMost = 1'000'000;

struct Worlds {
  std::int64_t training = 0, generation = 0;
  bool colocated = true;
};

// Who gets which GPUs: on one node some of its GPUs, on several some of the nodes.
Worlds read_worlds(HydraConfig& recipe, Imported& out) {
  const auto nodes_value = recipe.find("cluster.num_nodes");
  const auto gpus_value = recipe.find("cluster.gpus_per_node");
  if (!nodes_value || !gpus_value)
    throw Error(ErrorCode::bad_input,
                fmt::format("{}: no cluster.{}; is the recipe whole, with all files that its "
                            "defaults name?",
                            out.file, nodes_value ? "gpus_per_node" : "num_nodes"));
  const std::int64_t nodes = nodes_value->integer(1, kMost);
  const std::int64_t per_node = gpus_value->integer(1, 1024);
  out.nodes = nodes;
  out.gpus_per_node = per_node;
  out.gpus_per_node_source = "cluster.gpus_per_node";
  if (const auto segment = recipe.find("cluster.segment_size"))
    out.segment_nodes = segment->integer(1, kMost);

  Worlds worlds{nodes * per_node, nodes * per_node, true};
  worlds.colocated = recipe.flag("policy.generation.colocated.enabled", true);
  const auto given_nodes = recipe.find("policy.generation.colocated.resources.num_nodes");
  const auto given_gpus = recipe.find("policy.generation.colocated.resources.gpus_per_node");
  if (worlds.colocated) return worlds;
  if (nodes == 1) {
    if (given_nodes && given_nodes->integer(1, kMost) != 1)
      given_nodes->fail("the cluster has one node; write 1 or null");
    if (!given_gpus)
      nodes_value->fail(
          "generation has GPUs of its own, but policy.generation.colocated.resources."
          "gpus_per_node does not say how many of the one node");
    worlds.generation = given_gpus->integer(1, kMost);
    if (worlds.generation >= per_node)
      given_gpus->fail(fmt::format("leaves training none of {} GPUs", per_node));
    worlds.training = per_node - worlds.generation;
    return worlds;
  }
  if (!given_nodes)
    nodes_value->fail(
        "generation has nodes of its own, but policy.generation.colocated.resources.num_nodes "
        "does not say how many");
  if (given_gpus && given_gpus->integer(1, kMost) != per_node)
    given_gpus->fail(
        fmt::format("whole nodes are given to generation; write {}, as "
                    "cluster.gpus_per_node",
                    per_node));
  const std::int64_t generation_nodes = given_nodes->integer(1, kMost);
  if (generation_nodes >= nodes)
    given_nodes->fail(fmt::format("leaves training none of {} nodes", nodes));
  worlds.generation = generation_nodes * per_node;
  worlds.training = (nodes - generation_nodes) * per_node;
  return worlds;
}

void read_model(HydraConfig& recipe, Imported& out) {
  if (const auto name = recipe.find("policy.model_name")) {
    if (const auto known = catalog_name_of(name->text)) {
      set_key(out.model, "name", *known, fmt::format("policy.model_name: {}", name->text));
    } else {
      out.left_out.push_back(
          fmt::format("policy.model_name: '{}' is no model of the catalog; its config.json will do",
                      shown(name->text, 200)));
    }
  }
  if (const auto mtp = recipe.find("policy.megatron_cfg.mtp_num_layers")) {
    if (mtp->integer(0, 1000) > 0 && recipe.flag("policy.megatron_cfg.enabled", false))
      set_key(out.model, "mtp", "true", "policy.megatron_cfg.mtp_num_layers");
  }
  if (const HydraNode* overrides = recipe.node("policy.hf_config_overrides")) {
    for (const auto& [key, value] : overrides->children) {
      // Of these the weights do not depend.
      if (key == "max_position_embeddings" || key == "rope_scaling" || key == "rope_theta")
        continue;
      out.left_out.push_back(
          fmt::format("policy.hf_config_overrides.{}; if it changes shapes, use a config.json "
                      "that has it",
                      key));
    }
  }
}

void read_runtime(HydraConfig& recipe, Imported& out) {
  const auto copy_flag = [&](const char* key, const std::string& path) {
    if (recipe.flag(path, false)) set_key(out.runtime, key, "true", path);
  };
  copy_flag("eplb", "policy.generation.vllm_kwargs.enable_eplb");
  copy_flag("real_quant", "policy.generation.real_quant");
  copy_flag("async_rollouts", "grpo.async_grpo.enabled");
  copy_flag("reset_encoder_cache",
            "policy.generation.vllm_cfg.reset_encoder_cache_after_weight_update");
  const HydraNode* quant = recipe.node("policy.generation.quant_cfg");
  if (quant != nullptr && quant->kind != HydraNode::Kind::nothing)
    set_key(out.runtime, "quant_cfg", "true", "policy.generation.quant_cfg");
  if (const auto cache = recipe.find("policy.generation.vllm_cfg.kv_cache_dtype")) {
    if (cache->text.starts_with("fp8"))
      set_key(out.runtime, "kv_cache", "fp8", cache->path);
    else if (cache->text == "bfloat16" || cache->text == "float16")
      set_key(out.runtime, "kv_cache", cache->text == "float16" ? "fp16" : "bf16", cache->path);
    else if (cache->text != "auto")
      out.left_out.push_back(fmt::format("{}: {}", cache->path, cache->text));
  }
  for (const char* algorithm : {"grpo", "ppo", "distillation", "dpo", "sft", "rm"}) {
    if (recipe.node(algorithm) == nullptr) continue;
    if (std::string(algorithm) != "grpo") set_key(out.runtime, "algorithm", algorithm, algorithm);
    break;
  }
  if (!recipe.flag("loss_fn.use_importance_sampling_correction", false))
    set_key(out.runtime, "importance_sampling", "false",
            "loss_fn.use_importance_sampling_correction");
  if (const auto size = recipe.find("policy.refit_buffer_size_gb")) {
    if (!(size->number() > 0 && size->number() < 1e6))
      size->fail(fmt::format("expected a size above 0 in GiB, got '{}'", shown(size->text)));
    set_key(out.runtime, "refit_buffer", fmt::format("{} GiB", size->number()), size->path);
  }
  if (const auto bucket = recipe.find("policy.generation.refit_cfg.sparse.storage.s3_bucket"))
    set_key(out.runtime, "s3_bucket", yaml_text(bucket->text), bucket->path);
}

// Which of NeMo RL's ways the recipe takes; a strategy, or a check, of ours has its rules.
void read_transport(HydraConfig& recipe, const Worlds& worlds, Imported& out) {
  const std::string path = "policy.generation.refit_transport";
  const auto value = recipe.find(path);
  if (const auto old = recipe.find("policy.generation.checkpoint_engine"))
    old->fail("is gone from NeMo RL; write refit_transport: nixl and refit_cfg.nixl");
  std::string way;
  if (!value) {
    way = worlds.colocated
              ? "null on shared GPUs: memory handles, no network; plans here are of moving the "
                "shards between GPUs"
              : "null on separate GPUs: packed broadcast, as --strategy nemo_rl_packed";
  } else if (value->text == "nccl_reshard") {
    way = "nccl_reshard: as --strategy nemo_rl_reshard, rules by check --runtime nemo_rl_reshard";
  } else if (value->text == "nixl") {
    way = "nixl: as --strategy nemo_rl_nixl, rules by check --runtime nemo_rl_nixl";
  } else if (value->text == "vllm_zmq_sparse" || value->text == "vllm_s3_sparse") {
    way = fmt::format(
        "{}: only changes are sent; plans here send everything, rules by check "
        "--runtime nemo_rl_{}sparse",
        value->text, value->text == "vllm_s3_sparse" ? "s3_" : "");
  } else if (value->text.find(':') != std::string::npos) {
    way = fmt::format("{}: somebody's own; nothing is known of it", shown(value->text));
  } else {
    value->fail(
        fmt::format("unknown transport '{}'; use null, nccl_reshard, nixl, "
                    "vllm_zmq_sparse, vllm_s3_sparse or module:Class",
                    shown(value->text)));
  }
  out.assumptions.push_back("the recipe's refit_transport is " + way);
}

// NRL_REFIT_* and NCCL_RESHARD_* as the recipe sets them.
void read_environment(HydraConfig& recipe, Imported& out) {
  for (const char* map : {"policy.megatron_cfg.env_vars", "policy.dtensor_cfg.env_vars",
                          "policy.generation.vllm_cfg.env_vars"}) {
    const HydraNode* variables = recipe.node(map);
    if (variables == nullptr) continue;
    const auto names = variables->children;
    for (const auto& [name, node] : names) {
      const std::string path = fmt::format("{}.{}", map, name);
      const auto value = recipe.find(path);
      if (!value) continue;
      if (name == "NRL_REFIT_NUM_STREAMS") {
        set_key(out.plan, "streams", fmt::format("{}", value->integer(1, 64)), path);
      } else if (name == "NRL_REFIT_NUM_BUFFERS") {
        set_key(out.plan, "buffers", fmt::format("{}", value->integer(1, 64)), path);
      } else if (name.starts_with("NRL_REFIT_") || name.starts_with("NCCL_RESHARD_") ||
                 name.starts_with("VLLM_PP_")) {
        out.left_out.push_back(fmt::format("{}: {}", path, value->text));
      }
    }
  }
}

// Settings with such words in their names say nothing about who holds what.
constexpr std::string_view kHarmless[] = {"sequence_parallel",
                                          "parallel_plan",
                                          "fp8_cfg.fp8",
                                          "ignored_layer",
                                          "optimizer",
                                          "scheduler",
                                          "batch_size",
                                          "chunk_size",
                                          "capture_sizes",
                                          "use_precision_aware",
                                          "router",
                                          "pipeline_dtype",
                                          "buffer_size_gb",
                                          "sharding_strategy",
                                          "block_size",
                                          "refit_cfg",
                                          "server_port",
                                          "api_key",
                                          "num_speculative",
                                          "peft",
                                          "lora_cfg",
                                          "max_model_len",
                                          "checkpoint",
                                          "real_quant_export",
                                          "resources",
                                          "tokenizer",
                                          "max_num"};
// And those with such words do.
constexpr std::string_view kTelling[] = {
    "parallel", "pipeline",  "_stage",  "_size",   "precision",  "fp8",
    "quant",    "shard",     "replica", "refit",   "num_layers", "model_overrides",
    "redundan", "placement", "world",   "segment", "split",      "lora"};

template <std::size_t N>
bool has_any(const std::string& text, const std::string_view (&parts)[N]) {
  return std::any_of(std::begin(parts), std::end(parts),
                     [&](std::string_view part) { return text.find(part) != std::string::npos; });
}

// What stands in the settings of an engine that does not run says nothing.
bool is_of_idle_engine(const std::string& path, HydraConfig& recipe) {
  const auto has = [&](const char* part) { return path.find(part) != std::string::npos; };
  const auto backend = recipe.find("policy.generation.backend");
  const std::string word = backend ? backend->text : "vllm";
  if (has("megatron_cfg.")) return !recipe.flag("policy.megatron_cfg.enabled", false);
  if (has("dtensor_cfg.")) return !recipe.flag("policy.dtensor_cfg.enabled", false);
  if (has(".mcore_")) return word != "megatron";
  if (has(".sglang_")) return word != "sglang";
  return has(".vllm_") && word != "vllm" && word != "dynamo";
}

// Settings that nobody asked for although they sound as if they said who holds what.
void report_unknown(HydraConfig& recipe, Imported& out) {
  for (const char* part :
       {"cluster", "policy.megatron_cfg", "policy.dtensor_cfg", "policy.generation"}) {
    for (const HydraValue& value : recipe.not_asked(part)) {
      const bool is_off = value.text == "false" || value.text == "False" || value.text == "0" ||
                          value.text == "1" || value.text.empty();
      const std::string last = value.path.substr(value.path.rfind('.') + 1);
      if (is_off || has_any(value.path, kHarmless) || !has_any(last, kTelling)) continue;
      if (is_of_idle_engine(value.path, recipe)) continue;
      out.left_out.push_back(fmt::format("{}: {} ({}): not understood", shown(value.path, 200),
                                         shown(value.text, 80), value.where));
    }
  }
  for (const char* path : {"policy.megatron_cfg.peft.enabled",
                           "policy.dtensor_cfg.lora_cfg.enabled", "policy.draft.enabled"}) {
    const std::string side(path, std::string(path).rfind('.'));
    const std::string engine = side.substr(0, side.rfind('.'));
    const bool is_on =
        recipe.flag(path, false) && (engine == "policy" || recipe.flag(engine + ".enabled", false));
    if (is_on)
      out.left_out.push_back(fmt::format("{} is true; the whole model is taken to be sent", path));
  }
}

}  // namespace

Imported read_nemo_rl(HydraConfig& recipe, const std::string& file) {
  Imported out;
  out.file = file;
  out.format = "NeMo RL recipe";
  out.title = std::filesystem::path(file).stem().string();
  if (recipe.node("policy") == nullptr)
    throw Error(ErrorCode::bad_input,
                fmt::format("{}: no NeMo RL recipe: it has no `policy`", file));
  const Worlds worlds = read_worlds(recipe, out);
  read_model(recipe, out);
  read_nemo_rl_training(recipe, out);
  read_nemo_rl_generation(recipe, out);
  const std::string source = fmt::format("of {} nodes of {} GPUs", *out.nodes, *out.gpus_per_node);
  set_gpus(out, worlds.training, worlds.generation, worlds.colocated, source);
  read_runtime(recipe, out);
  read_transport(recipe, worlds, out);
  read_environment(recipe, out);
  report_unknown(recipe, out);
  return out;
}

Imported load_nemo_rl(const std::string& path, const std::vector<std::string>& overrides) {
  HydraConfig recipe = HydraConfig::load(path);
  for (const std::string& word : overrides) recipe.apply(word);
  Imported out = read_nemo_rl(recipe, path);
  for (const std::string& word : overrides) {
    const std::size_t first = std::min(word.find_first_not_of("+~"), word.size());
    const std::string key = word.substr(first, word.find('=') - first);
    const HydraNode* node = recipe.node(key);
    const bool is_scalar = node != nullptr && node->kind == HydraNode::Kind::scalar;
    if (is_scalar && !recipe.was_asked(key))
      out.left_out.push_back(fmt::format("override {}: no layout depends on it", word));
  }
  return out;
}

}  // namespace refit
