#pragma once

#include "schedule/schedule.h"
#include "schedule/timeline.h"
#include "sim/attribution.h"
#include "sim/detail/task_graph.h"
#include "topology/cluster.h"

namespace refit::detail {

// Where the time of the last op to end goes. `graph`: of this schedule on this cluster, nothing
// left out; `timeline`: its simulation.
Attribution attribute(const Schedule& schedule, const Cluster& cluster, const TaskGraph& graph,
                      const Timeline& timeline);

}  // namespace refit::detail
