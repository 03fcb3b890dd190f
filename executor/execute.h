#pragma once

#include <cstdint>

#include "executor/measurement.h"
#include "executor/moves.h"
#include "models/refit.h"
#include "schedule/schedule.h"
#include "topology/cluster.h"

namespace refit {

struct ExecuteOptions {
  int iterations = 5;
  int warmup = 1;
  bool check = true;       // compare every destination byte after every iteration
  std::uint64_t seed = 1;  // of the content; every iteration has its own
  MoveOptions moves;

  std::uint64_t seed_of(int iteration) const {
    return seed * 1000003 + static_cast<std::uint64_t>(iteration);
  }
};

// Runs a verified schedule with one thread per rank in this process. Every iteration fills new
// content, poisons the destinations, runs, and compares every byte.
Measurement execute_inproc(const Schedule& schedule, const Refit& refit, const Cluster& cluster,
                           const ExecuteOptions& options = {});

// Bytes that the busiest rank sends or receives, whichever is more.
std::int64_t largest_rank_bytes(const Moves& moves, int ranks);

// Kernel, processor and cores of this machine; no host names, no addresses.
std::vector<std::pair<std::string, std::string>> machine_environment();

}  // namespace refit
