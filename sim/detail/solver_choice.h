#pragma once

#include <string>

#include "sim/detail/task_graph.h"
#include "sim/predict.h"

namespace refit::detail {

struct SolverChoice {
  Solver solver = Solver::incremental;
  std::string reason;
};

// SimGrid's own solver where it takes no time that anybody notices; ours above, since SimGrid's
// takes ever longer per transfer the more are under way. Also ours where paths have weights that
// SimGrid can't have. `graph` is what is simulated, after reductions.
SolverChoice choose_solver(const TaskGraph& graph);

}  // namespace refit::detail
