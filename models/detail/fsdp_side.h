#pragma once

#include "models/detail/training_ranks.h"
#include "models/fsdp.h"

namespace refit::detail {

// What all users of FSDP2 do alike: everything but experts.
class FsdpSide : public StagedSide {
 public:
  Layout layout(const TensorSpec& tensor, int stage, int members) const override;

 protected:
  FsdpSide(const ModelSpec& model, const FsdpDegrees& degrees);

  virtual Layout expert_layout(const TensorSpec& tensor, int stage, int members) const = 0;

  int stage_ranks() const { return gpus() / stages(); }
  Rank first_of(int stage) const;

  // FSDP deals out the rows of the tensor's dim `dim`.
  static Placement dealt(int dim) { return shard(dim + 1, Split::chunk()); }

 private:
  Layout dense_layout(const TensorSpec& tensor, int stage, int members) const;
  bool in_tensor_plan(const TensorSpec& tensor) const;

  FsdpDegrees degrees_;
  int shard_ranks_ = 1;
  bool fused_attention_ = false;
};

// The class shape of a tensor: the member, then its own dims.
std::vector<std::int64_t> class_shape(const TensorSpec& tensor, int members);

// How a DTensor plan cuts a dim: like torch.chunk, or each part of a packed matrix on its own.
Split plan_split(const TensorDim& dim);

}  // namespace refit::detail
