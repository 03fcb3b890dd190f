#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "models/parallelism.h"

namespace refit {

// Training over PyTorch's DTensor. Ranks, fastest axis last:
//   dense: pp, dp_replicate, dp_shard, cp, tp     (dp_shard and cp act as one axis, `shard`)
// Every parameter is cut by itself: tensor parallelism cuts first, and FSDP deals the rows of each
// such piece out as torch.chunk does, so that the last ranks may hold fewer rows or none. PyTorch
// calls this _StridedShard, as the shard axis stands before tp in its mesh.
struct FsdpDegrees {
  int gpus = 0;
  Rank first;
  int replicate = 1;  // whole copies: HSDP
  int tensor = 1, context = 1, pipeline = 1;
  // Layers of every stage; empty: even shares, the first stages get one more.
  std::vector<int> stage_layers;
};

// FSDP2 with the parallel plans of torchtitan and transformers. Experts, fastest axis last:
//   pp, dp_replicate, ep_shard, ep, etp
struct FsdpOptions : FsdpDegrees {
  int expert = 1;
  // 1 or `tensor`. Nothing: `tensor` if experts are not divided, else 1.
  std::optional<int> expert_tensor;
  // The experts of a layer are one parameter [E, ...] rather than one each. Nothing: if the
  // checkpoint has it so, or experts are divided.
  std::optional<bool> stacked_experts;
};

// NeMo Automodel. Experts, fastest axis last, over all ranks of a stage:
//   pp, ep_shard, ep
// They are stored transposed: [E, H, 2I] and [E, I, H].
struct AutomodelOptions : FsdpDegrees {
  int expert = 1;
};

// Errors(bad_input) start with the key of the scenario that is wrong ("pipeline: …").
std::unique_ptr<Parallelism> fsdp(const ModelSpec& model, const FsdpOptions& options);
std::unique_ptr<Parallelism> automodel(const ModelSpec& model, const AutomodelOptions& options);

}  // namespace refit
