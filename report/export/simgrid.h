#pragma once

#include <string>

#include "schedule/schedule.h"
#include "sim/flow_list.h"
#include "topology/cluster.h"

namespace refit {

// A wire-only prediction for plain SimGrid.
struct SimgridFiles {
  std::string platform;  // XML of DTD 4.1: a host per rank, a link per direction of a port, routes
  std::string comms;     // CSV: comm, op, src, dst, bytes, after; what waits starts when all of
                         // `after` are done, and a row without hosts only waits
};

// Error(bad_input) names the first op that plain SimGrid can't have: a collective of which links
// carry unequal shares, since a route has a link whole or not; a second way between two ranks.
SimgridFiles simgrid_files(const Schedule& schedule, const Cluster& cluster, const FlowList& flows);

}  // namespace refit
