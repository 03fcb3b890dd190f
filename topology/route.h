#pragma once

#include <vector>

#include "topology/cluster.h"

namespace refit {

// Where a transfer between two ranks runs.
enum class RouteKind {
  local,    // a rank to itself: no link
  nvlink,   // inside an NVLink domain
  node,     // inside a node without NVLink between the two: PCIe
  network,  // through NICs
};

struct Route {
  RouteKind kind = RouteKind::local;
  std::vector<LinkId> links;  // in the order a byte crosses them
  double latency_s = 0;       // sum over the links
};

// The links a byte crosses from one rank to another. Where a leaf has spines, one of them carries
// the whole transfer, the same one for the same two ranks. Error(bad_input) if no WAN link joins
// their sites.
Route route(const Cluster& cluster, Rank src, Rank dst);
RouteKind route_kind(const Cluster& cluster, Rank src, Rank dst);

}  // namespace refit
