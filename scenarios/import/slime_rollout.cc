#include "scenarios/import/slime_rollout.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

namespace refit {
namespace {

constexpr std::int64_t kSlimeGpusPerNode = 8;  // default of --actor-num-gpus-per-node

bool is_asked(const Imported& out, const std::string& key) {
  return std::any_of(out.asked.begin(), out.asked.end(),
                     [&](const std::string& line) { return line.starts_with(key + ":"); });
}

void read_rollout_gpus(MegatronFlags& args, std::optional<std::int64_t> training, Imported& out) {
  const bool colocated = args.has("--colocate");
  const auto given = args.integer("--rollout-num-gpus", "generation.gpus");
  if (colocated && training) {
    if (given && *given != *training)
      args.fail("--rollout-num-gpus", fmt::format("{} with --colocate, but training has {} GPUs; "
                                                  "leave it out",
                                                  *given, *training));
    set_gpus(out, *training, *training, true, "--actor-num-nodes x --actor-num-gpus-per-node");
    return;
  }
  if (training)
    set_key(out.training, "gpus", fmt::format("{}", *training),
            "--actor-num-nodes x --actor-num-gpus-per-node");
  if (given) {
    set_key(out.generation, "gpus", fmt::format("{}", *given), "--rollout-num-gpus");
    if (out.nodes && out.gpus_per_node)
      out.nodes = *out.nodes + (*given + *out.gpus_per_node - 1) / *out.gpus_per_node;
  } else if (!is_asked(out, "generation.gpus")) {
    out.asked.push_back("generation.gpus: neither --colocate nor --rollout-num-gpus says it");
  }
}

}  // namespace

std::optional<std::int64_t> launched_gpus(MegatronFlags& args, Imported& out) {
  for (const auto& [nodes_flag, gpus_flag, other, otherwise] :
       {std::tuple("--actor-num-nodes", "--actor-num-gpus-per-node", "", kSlimeGpusPerNode),
        std::tuple("--nnodes", "--nproc-per-node", "--nproc-per-node", std::int64_t{0})}) {
    const auto nodes = args.integer(nodes_flag, "training.gpus");
    if (!nodes) continue;
    const auto given = args.integer(gpus_flag, "training.gpus");
    const std::int64_t per_node = given.value_or(otherwise);
    if (per_node == 0) continue;
    out.nodes = *nodes;
    out.gpus_per_node = per_node;
    out.gpus_per_node_source = given ? gpus_flag : fmt::format("slime's default of {}", gpus_flag);
    if (!given)
      out.assumptions.push_back(fmt::format("no {}: slime takes {}", gpus_flag, per_node));
    return *nodes * per_node;
  }
  if (const auto world = args.integer("--world-size", "training.gpus")) return world;
  if (!is_asked(out, "training.gpus"))
    out.asked.push_back("training.gpus: no flag says how many ranks train");
  return std::nullopt;
}

void read_slime_rollout(MegatronFlags& args, std::optional<std::int64_t> training, Imported& out) {
  ImportedPart& part = out.generation;
  set_key(part, "engine", "sglang", "slime and miles generate with SGLang");
  read_rollout_gpus(args, training, out);
  const auto per_engine = args.integer("--rollout-num-gpus-per-engine", "generation.tensor");
  std::int64_t pipeline = 1;
  for (const char* flag : {"--sglang-pipeline-parallel-size", "--sglang-pp-size"}) {
    if (args.has(flag)) pipeline = args.copy(flag, "generation", part, "pipeline");
  }
  if (per_engine.value_or(1) % pipeline != 0)
    args.fail("--rollout-num-gpus-per-engine",
              fmt::format("{} is no multiple of {} pipeline stages", *per_engine, pipeline));
  set_key(part, "tensor", fmt::format("{}", per_engine.value_or(1) / pipeline),
          per_engine ? "--rollout-num-gpus-per-engine" : "slime's default of one GPU per engine");
  for (const char* flag : {"--sglang-ep-size", "--sglang-expert-parallel-size", "--sglang-ep"}) {
    if (args.has(flag)) args.copy(flag, "generation", part, "expert");
  }
  const bool is_shared = args.has("--sglang-enable-dp-attention");
  for (const char* flag : {"--sglang-dp-size", "--sglang-data-parallel-size"}) {
    if (!args.has(flag)) continue;
    if (is_shared) {
      args.copy(flag, "generation", part, "attention_data");
    } else if (args.integer(flag, "generation.attention_data").value_or(1) > 1) {
      out.left_out.push_back(fmt::format(
          "{} without --sglang-enable-dp-attention: copies of engines, which gpus counts here",
          flag));
    }
  }
  if (args.has("--sglang-enable-dp-lm-head"))
    set_key(part, "dp_lm_head", "true", "--sglang-enable-dp-lm-head");
  if (args.has("--sglang-moe-dense-tp-size"))
    args.copy("--sglang-moe-dense-tp-size", "generation", part, "dense_tensor");
  for (const char* flag : {"--sglang-moe-a2a-backend", "--sglang-all2all-backend"}) {
    if (const auto word = args.text(flag, "generation.all2all_backend"))
      set_key(part, "all2all_backend", yaml_text(*word), flag);
  }
  if (args.has("--sglang-enable-deepep-moe"))
    set_key(part, "all2all_backend", "deepep", "--sglang-enable-deepep-moe");
  if (const auto copies =
          args.integer("--sglang-ep-num-redundant-experts", "generation.redundant_experts", 0))
    set_key(part, "redundant_experts", fmt::format("{}", *copies),
            "--sglang-ep-num-redundant-experts");
}

}  // namespace refit
