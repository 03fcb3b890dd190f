#pragma once

#include <cstdint>
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
  // Most of what one rank sends to another on this way, however many transfers; 0: no such limit.
  double flow_bytes_per_s = 0;
};

// The links a byte crosses from one rank to another. Where a leaf has spines, one of them carries
// the whole transfer, the same one for the same two ranks. Error(bad_input) if no WAN link joins
// their sites.
Route route(const Cluster& cluster, Rank src, Rank dst);

// How a client moves an object of so many bytes to or from a store: `parts` requests, of which
// `connections` run at a time, so that each connection has up to `turns`. 5 parts over 2
// connections are 3 turns.
struct StoreRequests {
  std::int64_t parts = 0;
  int connections = 0;
  std::int64_t turns = 0;
};
StoreRequests store_requests(const StoreSpec& store, std::int64_t bytes);

RouteKind route_kind(const Cluster& cluster, Rank src, Rank dst);

}  // namespace refit
