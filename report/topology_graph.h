#pragma once

#include <string>

#include "models/refit.h"
#include "topology/cluster.h"

namespace refit {

// The machines as a DOT graph: sites with their fabrics, leaf switches, nodes with GPUs, NVLink and
// NICs, object stores, and the WAN between sites. What is alike is drawn once with its count;
// of many different kinds the largest are drawn, the others counted.
std::string topology_graph(const Cluster& cluster, const Refit& refit);

}  // namespace refit
