#pragma once

#include <cstddef>
#include <optional>

#include "schedule/timeline.h"
#include "sim/detail/task_graph.h"
#include "sim/predict.h"

namespace refit::detail {

// Start and end of every task, by SimGrid's engine. Each may be called once per process, since the
// engine is a singleton: call them in a child (child.h).

// Rates from SimGrid's own network model (CM02). Needs weights that are small multiples of each
// path's least weight; Error(bad_input) otherwise.
Timeline run_native(const TaskGraph& graph);

// How often a link of this weight stands in such a path; nothing where it can't.
std::optional<std::size_t> native_repeats(double weight, double least_weight);

// Rates from max_min.h, plugged into the engine as a model of its own. `merge` as in FlowRun;
// `merged`: how many took over.
Timeline run_incremental(const TaskGraph& graph, bool merge = true, std::size_t* merged = nullptr);

// One of the two; merging is for the incremental one only.
inline Timeline run_solver(const TaskGraph& graph, Solver solver, bool merge = true,
                           std::size_t* merged = nullptr) {
  return solver == Solver::native ? run_native(graph) : run_incremental(graph, merge, merged);
}

}  // namespace refit::detail
