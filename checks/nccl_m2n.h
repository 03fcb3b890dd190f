#pragma once

#include "checks/finding.h"
#include "models/refit.h"
#include "topology/cluster.h"

namespace refit {

// Whether NVIDIA's NCCL M2N Reshard takes the tensors of a refit, one call per tensor, on one
// communicator per source stage (its ranks first, then all destinations). Limits as of its first
// public release; docs/checks.md lists them with their source. A finding per rule and tensor class,
// with the member that comes first.
Findings nccl_m2n_findings(const Refit& refit, const Cluster& cluster);

}  // namespace refit
