#include "models/detail/cut_rules.h"

#include "base/check.h"
#include "models/parallelism.h"

namespace refit::detail {
namespace {

constexpr std::int64_t kMxfp4Block = 32;  // elements that share a scale

// [q; k; v] in one checkpoint tensor, with key and value heads shared.
Split fused_qkv_split(const TensorDim& dim, int kv_heads, int ranks) {
  const Split splits[] = {Split::even(), Split::shared(kv_heads), Split::shared(kv_heads)};
  REFIT_CHECK(dim.blocks.size() == std::size(splits));
  std::vector<IntervalSet> pieces;
  for (int i = 0; i < ranks; ++i) {
    std::vector<IntervalSet> parts;
    for (std::size_t b = 0; b < dim.blocks.size(); ++b) {
      parts.push_back(splits[b].piece(dim.blocks[b], ranks, i));
    }
    pieces.push_back(stack(parts, dim.blocks));
  }
  return Split::table(std::move(pieces));
}

// z | x | B | C | dt, or x | B | C: B and C of a single group belong to the heads of all ranks.
Split one_group_split(const TensorDim& dim, int ranks) {
  const std::size_t first_shared = dim.blocks.size() == 5 ? 2 : 1;
  std::vector<IntervalSet> pieces;
  for (int i = 0; i < ranks; ++i) {
    std::vector<IntervalSet> parts;
    for (std::size_t b = 0; b < dim.blocks.size(); ++b) {
      const bool shared = b == first_shared || b == first_shared + 1;
      parts.push_back(shared ? IntervalSet(Interval{0, dim.blocks[b]})
                             : Split::even().piece(dim.blocks[b], ranks, i));
    }
    pieces.push_back(stack(parts, dim.blocks));
  }
  return Split::table(std::move(pieces));
}

}  // namespace

bool is_transposed_expert(const TensorSpec& tensor) {
  if (!on_expert_grid(tensor)) return false;
  if (tensor.part == "gate_up") {
    return tensor.dims.back().axis == Axis::ffn && tensor.dims.back().blocks.empty();
  }
  return tensor.part == "down" && tensor.dims.size() == 3 && tensor.dims[1].axis == Axis::ffn;
}

std::int64_t CutRules::padded_vocabulary(std::int64_t rows) const {
  return (rows + vocab_multiple - 1) / vocab_multiple * vocab_multiple;
}

Split CutRules::split(const TensorSpec& tensor, const TensorDim& dim, int ranks) const {
  if (dim.axis == Axis::vocab) {
    return Split::padded(padded_vocabulary(dim.size));
  }
  const bool share_heads =
      tensor.role == Role::attention && heads.kv_heads > 0 && heads.kv_heads < ranks;
  // The projections themselves, not per-head vectors of other attention kinds.
  if (share_heads && dim.axis == Axis::kv_head) return Split::shared(heads.kv_heads);
  if (share_heads && tensor.part == "qkv") return fused_qkv_split(dim, heads.kv_heads, ranks);
  if (tensor.role == Role::linear_attention && linear_heads.mamba_groups == 1 &&
      (tensor.part == "in_proj" || tensor.part == "conv")) {
    return one_group_split(dim, ranks);
  }
  if (is_transposed_expert(tensor)) {
    // Not evenly, but whole pairs of gate and up rows, or whole blocks with their scale.
    const std::int64_t unit = mxfp4_experts ? kMxfp4Block : 1;
    return Split::chunk(tensor.part == "gate_up" ? 2 * unit : unit);
  }
  return dim.blocks.empty() ? Split::even() : Split::blocks(dim.blocks);
}

}  // namespace refit::detail
