#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/refit.h"
#include "schedule/schedule.h"
#include "schedule/timeline.h"
#include "topology/cluster.h"

namespace refit {

// What a plan may take on each rank beside the weights themselves. Nothing: as much as it likes.
struct PlanLimits {
  std::optional<std::int64_t> extra_memory_bytes;  // buffers and content handed on, sim/memory.h
  std::optional<std::int64_t> ops;                 // transfers that a rank sends or receives
  std::optional<int> communicators;                // lanes that a rank uses: each has buffers
  std::optional<int> peers;                        // other ranks over the network: queue pairs
  std::optional<double> nic_bytes_per_s;           // of each NIC and direction
  std::optional<int> ctas;                         // thread blocks that move its bytes
  // What one of them moves. An assumption: 16 to 24 of them fill an NVLink port of 450 GB/s.
  double cta_bytes_per_s = 24e9;

  bool any() const {
    return extra_memory_bytes || ops || communicators || peers || nic_bytes_per_s || ctas;
  }
  LinkCaps caps() const;
};

// What a plan takes, on the rank that takes most of each.
struct PlanNeeds {
  double extra_memory_bytes = 0;
  std::int64_t ops = 0;
  int communicators = 0;
  int peers = 0;
};

// `timeline`: when each op runs.
PlanNeeds plan_needs(const Schedule& schedule, const Refit& refit, const Cluster& cluster,
                     const Timeline& timeline);

// How many times the limit that is exceeded most is taken; 1 or less: all are kept.
double excess(const PlanLimits& limits, const PlanNeeds& needs);

// A line for each limit that is not kept: "ops 5,120 of 1,000 per rank". Bandwidth and thread
// blocks are kept by the schedule's own caps.
std::vector<std::string> exceeded(const PlanLimits& limits, const PlanNeeds& needs);

}  // namespace refit
