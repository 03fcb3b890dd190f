#include "validation/detail/generation_side.h"

#include <cstdint>
#include <optional>

#include <fmt/format.h>

#include "validation/detail/cell.h"
#include "validation/detail/words.h"

namespace refit::detail {
namespace {

bool is_sglang(const PublishedRow& row, const LayoutWords& words) {
  if (words.engine == LayoutEngine::vllm) return false;
  return words.engine == LayoutEngine::sglang ||
         has_any(lower(row.system), {"sglang", "miles", "slime"});
}

std::optional<std::string> add_vllm_experts(RowSide& side, const LayoutWords& words,
                                            std::vector<std::string>& assumptions) {
  const int tensor = words.tensor.value_or(1);
  const int expert = words.expert.value_or(words.expert_parallel ? tensor : 1);
  if (expert <= 1) return std::nullopt;
  if (expert % tensor != 0) {
    return fmt::format(
        "vLLM divides experts over all ranks of an engine; EP {} is no multiple of TP {}", expert,
        tensor);
  }
  side.keys.emplace_back("expert_parallel: true");
  if (expert > tensor) {
    add_degree(side, "data", expert / tensor);
    assumptions.push_back(fmt::format("An engine has {} ranks: data {} x tensor {} hold EP {}.",
                                      expert, expert / tensor, tensor, expert));
  }
  return std::nullopt;
}

}  // namespace

std::variant<RowSide, RowSkip> generation_side(const PublishedRow& row, const std::string& system,
                                               const LayoutWords& words, const ModelSpec& model,
                                               const MachineKind& kind,
                                               std::vector<std::string>& assumptions) {
  const bool sglang = is_sglang(row, words);
  RowSide side{.engine = sglang ? "sglang" : "vllm",
               .gpus = 0,
               .keys = {},
               .nvlink_domains = words.nvlink_domains};
  if (words.engine != LayoutEngine::vllm && words.engine != LayoutEngine::sglang &&
      !has_any(lower(row.system), {"vllm", "sglang", "nemo", "miles", "slime"})) {
    assumptions.push_back(fmt::format("Generation is {}'s.", sglang ? "SGLang" : "vLLM"));
  }
  LayoutWords degrees = words;
  const bool whole = system == "nemo_rl_nixl_full";
  if (whole) {
    degrees.tensor = 1;
    degrees.pipeline = 1;
    degrees.expert = 1;
  }
  if (!degrees.tensor && words.gpus_of_replica) degrees.tensor = words.gpus_of_replica;
  // SGLang counts ranks of data parallel attention inside tensor: DP2 TP8 EP16 is tensor 16 for it.
  if (sglang && degrees.expert.value_or(1) > degrees.tensor.value_or(1) && degrees.data &&
      product({degrees.tensor, degrees.data}) == *degrees.expert) {
    degrees.tensor = degrees.expert;
    degrees.attention_data = true;
    assumptions.push_back(fmt::format(
        "SGLang's tensor ranks are all {} that hold experts, with data parallel attention.",
        *degrees.expert));
  }
  const std::int64_t engine = product({degrees.tensor, degrees.pipeline});
  std::optional<std::int64_t> of_layout;
  if (words.replicas) {
    of_layout = product({degrees.tensor, degrees.pipeline, words.replicas});
  } else if (degrees.data && !degrees.attention_data) {
    of_layout = product({degrees.tensor, degrees.pipeline, degrees.data});
  }
  const bool in_place = system.starts_with("checkpoint_engine");
  const auto column = row.infer_gpus ? row.infer_gpus
                      : words.gpus   ? words.gpus
                      : in_place     ? row.train_gpus
                                     : std::nullopt;
  const auto gpus = gpu_count(column, row.infer_nodes, kind, of_layout, "generation", assumptions);
  if (!gpus) return RowSkip{"infer_gpus", "is not given, and the layout does not say it"};
  side.gpus = *gpus;
  if (side.gpus % engine != 0) {
    return RowSkip{"infer_layout",
                   fmt::format("engines of {} ranks do not divide {} GPUs", engine, side.gpus)};
  }
  if (words.replicas && !whole && of_layout && side.gpus % *of_layout != 0) {
    return RowSkip{"infer_layout",
                   fmt::format("{} engines of {} ranks are not the {} GPUs of the row",
                               *words.replicas, engine, side.gpus)};
  }
  add_degree(side, "tensor", degrees.tensor);
  add_degree(side, "pipeline", degrees.pipeline);
  if (model.experts > 0) {
    if (sglang) {
      add_degree(side, "expert",
                 degrees.expert            ? degrees.expert
                 : degrees.expert_parallel ? degrees.tensor
                                           : std::nullopt);
    } else if (const auto refused = add_vllm_experts(side, degrees, assumptions)) {
      return RowSkip{"infer_layout", *refused};
    }
  }
  if (sglang && degrees.attention_data) add_degree(side, "attention_data", degrees.data);
  return side;
}

}  // namespace refit::detail
