#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "executor/rank_memory.h"
#include "schedule/fault.h"
#include "schedule/timeline.h"

namespace refit {

// One refit that was run: the time of the slowest rank, from a common start.
struct Iteration {
  double seconds = 0;
  Rank slowest;
  std::int64_t wrong_bytes = 0;
};

// A rank that was lost in the last iteration, and how the others completed it without. The
// iteration's seconds have it all in them.
struct FaultRecord {
  Rank lost;
  std::string reason;  // "killed by signal 9 (Killed)"
  FaultPolicy policy = FaultPolicy::shrink;
  double detected_s = 0;             // from the start of the iteration
  double reconnected_s = 0;          // until the slowest survivor had its new connections
  std::int64_t recovered_bytes = 0;  // received by the recovery's own plan, over all ranks
  std::vector<Rank> dropped;         // destinations that are lost
};

// What a run of a schedule measured, and where.
struct Measurement {
  std::string transport;  // "inproc", "tcp", …
  int ranks = 0;
  std::vector<Iteration> iterations;  // without warm-up
  std::int64_t wrong_bytes = 0;       // over all iterations and warm-ups
  std::vector<WrongByte> wrong_examples;
  Timeline timeline;  // of the last iteration: earliest start and latest end over ranks; {0, 0}
                      // everywhere if it had a fault
  std::int64_t largest_rank_bytes =
      0;             // sent or received by one rank: the size of nccl-tests' algbw
  double cpu_s = 0;  // of all ranks, over the timed iterations
  std::optional<FaultRecord> fault;
  std::vector<std::pair<std::string, std::string>> environment;

  double minimum_s() const;
  double median_s() const;
  double maximum_s() const;
};

}  // namespace refit
