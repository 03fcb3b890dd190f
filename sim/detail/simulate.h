#pragma once

#include <string>

#include "schedule/timeline.h"
#include "sim/detail/task_graph.h"
#include "sim/predict.h"

namespace refit::detail {

struct Simulated {
  Timeline timeline;  // of the ops
  Solver solver = Solver::incremental;
  std::string solver_reason;
  ReductionReport reductions;
};

// Reduces the graph, simulates what is left in a child, and gives every op its times back.
Simulated simulate(TaskGraph graph, const PredictOptions& options);

}  // namespace refit::detail
