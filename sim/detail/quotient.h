#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "schedule/timeline.h"
#include "sim/detail/classes.h"

namespace refit::detail {

// A graph with one task for each class of tasks and one link for each class of links (classes.h). A
// flow of it stands for all of its class, so it weighs on a link what those of them weigh that
// cross one link of the class:
//
//   16 groups of 24 equal flows, each group over a link of its own, and all over one core:
//   1 flow over a link with weight 24, and over the core with weight 384
//
// Only the ratio of a link's weights to its capacity matters, so both are divided by the least
// weight: 1 over a link of capacity / 24, and 1 over a core of capacity / 384. SimGrid's solver can
// do with that more often than with the weights as they are.
struct Quotient {
  TaskGraph graph;  // classes in the order of their first members; all of them count as ops
  std::vector<std::uint32_t> class_of;  // by task of the whole graph
  std::size_t links = 0;
};

// Nothing where too little would be saved, or where classes found by hash do not hold.
std::optional<Quotient> make_quotient(const TaskGraph& graph);

// The classes must be equitable.
Quotient quotient_by(const TaskGraph& graph, const GraphIndex& index, Classes classes);

// The times of all tasks by those of their classes.
Timeline expand(const Quotient& quotient, const Timeline& classes);

}  // namespace refit::detail
