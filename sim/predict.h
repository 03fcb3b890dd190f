#pragma once

#include <optional>

#include "schedule/schedule.h"
#include "sim/network_model.h"
#include "sim/prediction.h"
#include "sim/reductions.h"
#include "topology/cluster.h"

namespace refit {

enum class Solver {
  native,       // SimGrid's own CM02 max-min: the oracle
  incremental,  // ours, plugged into SimGrid's engine: equal rates, faster
};

struct PredictOptions {
  NetworkModel network_model = wire_only();
  std::optional<Solver> solver;  // nothing: by size, and said in Prediction::solver_reason
  Reductions reductions = {};
  bool attribute = false;  // also say where the time goes: Prediction::attribution
};

// Simulates the schedule at flow level and says when each op starts and ends. Runs in a forked
// child, since SimGrid's engine is one per process; a crash there becomes Error(environment). The
// schedule must have passed verify. Deterministic.
Prediction predict(const Schedule& schedule, const Cluster& cluster,
                   const PredictOptions& options = {});

}  // namespace refit
