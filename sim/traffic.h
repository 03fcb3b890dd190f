#pragma once

#include <cstdint>
#include <vector>

#include "schedule/schedule.h"
#include "topology/cluster.h"

namespace refit {

// The byte words used everywhere (docs/glossary.md).
struct TrafficTotals {
  std::int64_t logical_bytes = 0;  // content moved, once per phase however many receive it
  double network_bytes = 0;        // sum over all transfers that cross a NIC
  double nvlink_bytes = 0;         // sum over all transfers inside an NVLink domain
  double node_bytes = 0;           // inside a node without NVLink
  double local_bytes = 0;          // device copies
  double copies = 0;               // network bytes / what travels of all parcels, once
};

TrafficTotals traffic_totals(const Schedule& schedule, const Cluster& cluster);

// The same for each of the schedule's phases. They sum to the totals.
std::vector<TrafficTotals> phase_traffic(const Schedule& schedule, const Cluster& cluster);

// Bytes between domains, row: from, column: to; row-major. Inside a domain: the diagonal.
std::vector<double> domain_traffic(const Schedule& schedule, const Cluster& cluster);

}  // namespace refit
