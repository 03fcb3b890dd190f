#pragma once

#include "models/megatron.h"

namespace refit {

// The ranks of a Megatron job seen twice. Axes stand in this order whatever Megatron's own order
// of ranks is; that only changes their strides.
struct MegatronGrids {
  Mesh dense;    // pp, dp, cp, tp
  Mesh experts;  // pp, edp, ep, etp
};

// Error(bad_input) if degrees do not divide the ranks, or the two grids disagree about which ranks
// form a pipeline.
MegatronGrids megatron_grids(const ModelSpec& model, const MegatronOptions& options);

}  // namespace refit
