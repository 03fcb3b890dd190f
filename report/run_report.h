#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "executor/measurement.h"
#include "schedule/timeline.h"
#include "sim/fault.h"

namespace refit {

// How a scenario was made smaller before it was run.
struct RunScale {
  double factor = 1;       // of bandwidths, exactly
  double byte_factor = 1;  // of bytes, as near as whole rows allow
};

// One phase of a run: when its first byte could flow and its last had arrived.
struct RunPhase {
  std::string name;
  std::int64_t largest_rank_bytes = 0;  // sent or received by one rank in this phase
  Span measured;                        // in the last iteration
  std::optional<Span> predicted;
};

// The answer of `refit run`: a measurement, what was run, and what it may be held against.
struct RunReport {
  std::string scenario;
  std::string strategy;
  std::optional<RunScale> scale;
  std::uint64_t seed = 1;
  int warmup = 0;
  bool checked = true;  // every destination byte was compared; false: wrong bytes are not known
  Measurement measurement;
  // Wire-only, of the same schedule on the same (scaled) cluster; none without a network.
  std::optional<double> predicted_s;
  std::vector<RunPhase> phases;
  std::optional<FaultPrediction> predicted_fault;  // if a fault was caused and can be predicted
  std::string not_graded;  // why measurement and prediction are not held together; empty: they are
};

}  // namespace refit
