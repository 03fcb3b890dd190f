#include "validation/detail/training_side.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace refit::detail {
namespace {

// Stages of a pipeline that does not divide the layers: the first and the last take what is left,
// as recipes write it (61 layers on 16 stages: 3, 14 x 4, 2). M2N's bench has layer x stages /
// layers.
void add_stages(RowSide& side, int layers, int stages, bool spread,
                std::vector<std::string>& assumptions) {
  if (stages <= 1 || stages > layers || layers % stages == 0) return;
  const int most = (layers + stages - 1) / stages;
  const int rest = layers - most * (stages - 2);
  if (!spread && rest >= 2 && (rest + 1) / 2 <= most) {
    side.keys.push_back(fmt::format("first_stage_layers: {}", (rest + 1) / 2));
    side.keys.push_back(fmt::format("last_stage_layers: {}", rest / 2));
    assumptions.push_back(fmt::format("{} layers on {} stages: {} in the first, {} in the last.",
                                      layers, stages, (rest + 1) / 2, rest / 2));
    return;
  }
  std::vector<int> sizes(static_cast<std::size_t>(stages), 0);
  for (int layer = 0; layer < layers; ++layer) {
    ++sizes[static_cast<std::size_t>(std::int64_t{layer} * stages / layers)];
  }
  side.keys.push_back(fmt::format("stage_layers: [{}]", fmt::join(sizes, ", ")));
  assumptions.push_back(
      fmt::format("{} layers are spread over {} stages as evenly as they go.", layers, stages));
}

// What Megatron calls expert tensor parallelism, where the text does not say it: 1 as in every
// recipe that says it, unless the degrees only multiply to the GPUs with the experts cut like the
// rest.
int expert_tensor(const LayoutWords& words, int gpus, std::vector<std::string>& assumptions) {
  if (words.expert_tensor) return *words.expert_tensor;
  const int tensor = words.tensor.value_or(1);
  if (tensor == 1) return 1;
  const std::int64_t written =
      product({words.tensor, words.pipeline, words.context, words.expert, words.data});
  if (words.data && written == gpus) {
    assumptions.push_back(
        fmt::format("Experts are cut by {} ranks like the other weights: only so do "
                    "the degrees multiply to {} GPUs.",
                    tensor, gpus));
    return tensor;
  }
  assumptions.emplace_back("Training keeps experts whole (expert tensor parallel degree 1).");
  return 1;
}

RowSide megatron_side(const PublishedRow& row, const std::string& system, const LayoutWords& words,
                      const ModelSpec& model, const MachineKind& kind,
                      std::vector<std::string>& assumptions) {
  RowSide side{.engine = "megatron", .gpus = 0, .keys = {}, .nvlink_domains = words.nvlink_domains};
  // Only Megatron has all of these; tensor and data parallelism others have, too.
  const bool names_megatron = words.engine == LayoutEngine::megatron || words.pipeline ||
                              words.expert || words.expert_tensor || words.virtual_pipeline;
  if (!names_megatron) {
    assumptions.emplace_back("Training is Megatron's.");
  }
  // With a stated degree of data parallelism all GPUs follow, else the fewest that fit.
  const std::int64_t dense = product({words.tensor, words.context, words.pipeline, words.data});
  const std::int64_t experts = product({words.expert, words.expert_tensor, words.pipeline});
  const auto gpus = gpu_count(row.train_gpus ? row.train_gpus : words.gpus, row.train_nodes, kind,
                              std::max(dense, experts), "training", assumptions);
  side.gpus = *gpus;
  add_degree(side, "tensor", words.tensor);
  add_degree(side, "context", words.context);
  add_degree(side, "pipeline", words.pipeline);
  const std::int64_t chunks = product({words.pipeline, words.virtual_pipeline});
  if (model.layers % chunks == 0) {
    add_degree(side, "virtual_pipeline", words.virtual_pipeline);
  } else if (words.virtual_pipeline.value_or(1) > 1) {
    assumptions.push_back(fmt::format("{} layers are no multiple of {} chunks: each stage has one.",
                                      model.layers, chunks));
  }
  if (model.experts > 0 && (words.expert.value_or(1) > 1 || words.expert_tensor)) {
    add_degree(side, "expert", words.expert);
    side.keys.push_back(
        fmt::format("expert_tensor: {}", expert_tensor(words, side.gpus, assumptions)));
  } else if (words.expert.value_or(1) > 1) {
    assumptions.emplace_back("The model has no experts: the expert parallel degree means nothing.");
  }
  add_stages(side, model.layers, words.pipeline.value_or(1), system.starts_with("m2n"),
             assumptions);
  return side;
}

RowSide fsdp_side(const PublishedRow& row, const LayoutWords& words, const MachineKind& kind,
                  const ModelSpec& model, std::vector<std::string>& assumptions) {
  RowSide side{.engine = words.engine == LayoutEngine::automodel       ? "automodel"
                         : words.engine == LayoutEngine::megatron_fsdp ? "megatron_fsdp"
                                                                       : "fsdp",
               .gpus = 0,
               .keys = {},
               .nvlink_domains = words.nvlink_domains};
  const std::int64_t written = product({words.shard, words.replicate, words.tensor, words.pipeline,
                                        words.context, words.shard ? std::nullopt : words.data});
  const auto gpus =
      gpu_count(row.train_gpus ? row.train_gpus : words.gpus, row.train_nodes, kind,
                written > 1 ? std::optional(written) : std::nullopt, "training", assumptions);
  side.gpus = gpus.value_or(0);
  add_degree(side, "replicate", words.replicate);
  add_degree(side, "tensor", words.tensor);
  add_degree(side, "context", words.context);
  add_degree(side, "pipeline", words.pipeline);
  if (model.experts > 0) add_degree(side, "expert", words.expert);
  // FSDP 8 on 16 GPUs: two copies.
  if (words.shard && !words.replicate) {
    const std::int64_t one = product({words.shard, words.tensor, words.pipeline, words.context});
    if (side.gpus > one && side.gpus % one == 0) {
      add_degree(side, "replicate", static_cast<int>(side.gpus / one));
      assumptions.push_back(fmt::format("FSDP {} on {} GPUs is {} copies.", *words.shard, side.gpus,
                                        side.gpus / one));
    }
  }
  return side;
}

}  // namespace

std::variant<RowSide, RowSkip> training_side(const PublishedRow& row, const std::string& system,
                                             const LayoutWords& words, const ModelSpec& model,
                                             const MachineKind& kind,
                                             std::vector<std::string>& assumptions) {
  const bool sharded = words.engine == LayoutEngine::fsdp ||
                       words.engine == LayoutEngine::automodel ||
                       words.engine == LayoutEngine::megatron_fsdp;
  RowSide side = sharded ? fsdp_side(row, words, kind, model, assumptions)
                         : megatron_side(row, system, words, model, kind, assumptions);
  if (side.gpus == 0) return RowSkip{"train_gpus", "is not given, and the layout does not say it"};
  return side;
}

RowSide host_side(int gpus, std::vector<std::string>& assumptions) {
  assumptions.push_back(fmt::format(
      "Weights start in the host memory of the generation nodes, divided evenly among {} GPUs.",
      gpus));
  return {.engine = "fsdp", .gpus = gpus, .keys = {"first_gpu: 0"}, .nvlink_domains = {}};
}

}  // namespace refit::detail
