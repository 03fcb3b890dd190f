#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/parcels.h"
#include "schedule/schedule.h"
#include "sim/flow_bound.h"
#include "topology/cluster.h"

namespace refit {

// What holds for every plan of a refit on a cluster: computed once, however many plans are held
// against it.
struct RefitBound {
  FlowBound flow;        // its `cuts` are what holds for plans with collectives, too
  double latency_s = 0;  // the largest of a network route between ranks that take part
  int levels = 1;        // of sends one after the other, if the bound needs relays
};

// Of a network route between ranks that take part, in seconds; 0: none.
double largest_latency(const std::vector<Parcel>& parcels, const Cluster& cluster);

RefitBound bound_of_refit(const std::vector<Parcel>& parcels, const Cluster& cluster);

// With the next transfer posted before the last one ends, chunks of up to 20 latencies cost no more
// than one of them per level; for that to be 5 %, the bound must be 20 times as long.
inline constexpr double kLatenciesPerChunk = 20;
inline constexpr double kLatenciesPerLevel = 20 * kLatenciesPerChunk;

// How near one plan comes to what no plan can beat (docs/lower_bound.md).
struct Certificate {
  double bound_s = 0;
  std::optional<double> no_relay_bound_s;  // if only owners may send; nothing: not asked
  std::string bound_by;                    // what sets the bound: "domain 3 ingress"
  double wire_s = 0;                       // predicted, bytes over links and nothing else
  double latency_s = 0;                    // RefitBound
  int levels = 1;
  std::int64_t chunk_bytes = 0;  // the largest transfer over the network
  int relay_depth = 0;           // sends over the network, one waiting for the other, less one
  double fill_s = 0;             // about when the end of that chain has its first chunk
  std::string plan;              // plan_hash.h

  // Bounds below this say too little to be compared with: they know no latency.
  double least_compared_s() const { return kLatenciesPerLevel * latency_s * levels; }
  bool latency_dominates() const { return bound_s < least_compared_s(); }
  // Wire-only prediction / bound; nothing where latency dominates or no byte must move.
  std::optional<double> ratio() const {
    if (latency_dominates() || bound_s <= 0) return std::nullopt;
    return wire_s / bound_s;
  }
};

// `wire_s`: what predict says of the schedule with the network model wire_only().
Certificate certify(const Schedule& schedule, const Cluster& cluster, const RefitBound& bound,
                    double wire_s);

}  // namespace refit
