#include "models/detail/fsdp_side.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "models/nearest_fit.h"

namespace refit::detail {
namespace {

// A parallel plan gives each rank whole heads. Unlike engines, it makes no copies of KV heads.
void check_plan(const ModelSpec& model, int tensor) {
  const HeadGroups& heads = model.heads;
  const auto fits = [&](int n) { return heads.q_heads % n == 0 && heads.kv_heads % n == 0; };
  if (fits(tensor)) return;
  const bool kv = heads.q_heads % tensor == 0;
  refuse(
      fmt::format("tensor: {} does not divide {} {} heads, and a DTensor plan cuts between "
                  "heads only; use {}",
                  tensor, kv ? heads.kv_heads : heads.q_heads, kv ? "key/value" : "attention",
                  nearest_fit(tensor, heads.q_heads, fits)));
}

}  // namespace

std::vector<std::int64_t> class_shape(const TensorSpec& tensor, int members) {
  std::vector<std::int64_t> shape{members};
  for (const TensorDim& dim : tensor.dims) shape.push_back(dim.size);
  return shape;
}

Split plan_split(const TensorDim& dim) {
  return dim.blocks.empty() ? Split::chunk() : Split::blocks(dim.blocks);
}

FsdpSide::FsdpSide(const ModelSpec& model, const FsdpDegrees& degrees)
    : StagedSide(degrees.gpus,
                 written_stages_or_even(model, degrees.pipeline, degrees.stage_layers)),
      degrees_(degrees) {
  dividing_product({{"pipeline", degrees.pipeline}}, degrees.gpus, "ranks of this side");
  const int fixed = dividing_product(
      {{"replicate", degrees.replicate}, {"context", degrees.context}, {"tensor", degrees.tensor}},
      stage_ranks(), "ranks of a pipeline stage");
  check_plan(model, degrees.tensor);
  shard_ranks_ = stage_ranks() / fixed * degrees.context;
  fused_attention_ =
      std::any_of(model.tensors.begin(), model.tensors.end(),
                  [](const TensorSpec& t) { return t.role == Role::attention && t.part == "qkv"; });
}

Rank FsdpSide::first_of(int stage) const {
  return Rank(degrees_.first.value + stage * stage_ranks());
}

Layout FsdpSide::layout(const TensorSpec& tensor, int stage, int members) const {
  return on_expert_grid(tensor) ? expert_layout(tensor, stage, members)
                                : dense_layout(tensor, stage, members);
}

// Plans leave norms and recurrent layers whole, and attention whose checkpoint fuses q, k and v:
// rows cut alike would give no rank whole heads.
bool FsdpSide::in_tensor_plan(const TensorSpec& tensor) const {
  if (tensor.role == Role::linear_attention) return false;
  if (tensor.role != Role::attention) return true;
  return !fused_attention_ && !tensor.part.ends_with("_norm");
}

Layout FsdpSide::dense_layout(const TensorSpec& tensor, int stage, int members) const {
  // The shard axis comes last, though tp is the fastest: it cuts what tp leaves.
  const Mesh mesh(first_of(stage),
                  {{"dp_replicate", degrees_.replicate, shard_ranks_ * degrees_.tensor},
                   {"tp", degrees_.tensor, 1},
                   {"shard", shard_ranks_, degrees_.tensor}});
  std::vector<Placement> placements(3);
  for (std::size_t d = 0; d < tensor.dims.size() && in_tensor_plan(tensor); ++d) {
    const TensorDim& dim = tensor.dims[d];
    if (dim.axis == Axis::none || placements[1].sharded) continue;
    placements[1] = shard(static_cast<int>(d) + 1, plan_split(dim));
  }
  // FSDP shards parameters; the correction bias of a router is a buffer.
  if (tensor.part != "router_bias") placements[2] = dealt(0);
  try {
    return Layout(class_shape(tensor, members), mesh, std::move(placements));
  } catch (const Error& error) {
    refuse(fmt::format("tensor: {} can't be cut by {} ranks: {}", tensor.name, degrees_.tensor,
                       error.what()));
  }
}

}  // namespace refit::detail
