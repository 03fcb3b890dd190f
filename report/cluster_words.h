#pragma once

#include <string>

#include "topology/cluster.h"

namespace refit {

// A cluster in one line per group of nodes, fabric that can bind, and WAN link:
//
//   32 x dgx_h100: 8 GPUs in NVLink domains of 8 (450.00 GB/s), 8 NICs of 400.0 Gbit/s
std::string cluster_words(const Cluster& cluster);

}  // namespace refit
