#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "schedule/timeline.h"
#include "sim/detail/task_graph.h"

namespace refit::detail {

// A task graph in which one task stands for all that behave alike, and one link for all that are
// loaded alike.
//
// Tasks are alike if they have equal bytes, delays and predecessors, and paths over alike links;
// links are alike if they have equal rates and the same number of tasks of each kind cross them.
// Such a partition is found by colour refinement. With it all tasks of a class have equal rates at
// all times: what holds for one link of a class holds for the others. Successors need not be alike,
// since what comes later changes nothing before it.
//
// Colours are 64-bit hashes: of a million classes two are taken for one with a chance of 3e-8.
struct Quotient {
  TaskGraph graph;               // a path weighs what all its class puts on one link
  std::vector<TaskId> class_of;  // by task of the whole graph
  std::size_t links = 0;         // classes of links that are used
};

// Nothing if less than a tenth of the links would go, which is mostly seen after a sweep or two.
std::optional<Quotient> make_quotient(const TaskGraph& graph);

// The times of all tasks by those of their classes.
Timeline expand(const Quotient& quotient, const Timeline& classes);

}  // namespace refit::detail
