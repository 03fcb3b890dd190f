#pragma once

#include <cstddef>
#include <ostream>

#include "models/refit.h"
#include "schedule/schedule.h"
#include "topology/cluster.h"

namespace refit {

// Messages of a rank that are printed unless all are asked for.
inline constexpr std::size_t kMostPosted = 20;

// What each rank would post, rank by rank and lane by lane: the executor's own program, not run.
void write_dry_run(std::ostream& out, const Schedule& schedule, const Refit& refit,
                   const Cluster& cluster, bool all);

}  // namespace refit
