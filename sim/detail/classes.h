#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/detail/graph_index.h"
#include "sim/detail/task_graph.h"

namespace refit::detail {

// Tasks that start and end together, and links that carry the same at any time, because the graph
// looks the same from each of them:
//
//   tasks of a class have equal delay and bytes, paths of equal classes, and wait for the same
//   classes of tasks;
//   links of a class have equal capacities and changes, and are crossed by as many flows of each
//   class with each weight.
//
// What comes after a task makes no difference, since it can't change the past.
struct Classes {
  std::vector<std::uint32_t> of_task;  // numbered by their first members
  std::vector<std::uint32_t> of_link;  // kNoOwner where no flow crosses
  std::vector<std::uint32_t> of_path;  // equal: the same weights on the same classes of links
  std::uint32_t tasks = 0;
  std::uint32_t links = 0;
  std::uint32_t paths = 0;
};

// The coarsest classes, by colour refinement, or nothing where they would save too little: a
// quarter of the flows and of the links that they cross may be left. Takes a few sweeps over the
// graph, part of one if there is no symmetry. Colours are compared by hash: ask equitable().
std::optional<Classes> find_classes(const TaskGraph& graph, const GraphIndex& index);

// Whether the classes are what they should be. Exact: no hash is asked.
bool equitable(const TaskGraph& graph, const GraphIndex& index, const Classes& classes);

// The flows on one link by class and weight, in order: what equal links have in common.
struct Crossing {
  std::uint32_t task_class = 0;
  double weight = 0;

  friend auto operator<=>(const Crossing&, const Crossing&) = default;
};
std::vector<Crossing> crossings(const TaskGraph& graph, const GraphIndex& index,
                                const Classes& classes, std::size_t link);

// The first member of each class.
std::vector<std::uint32_t> first_members(const std::vector<std::uint32_t>& class_of,
                                         std::uint32_t classes);

}  // namespace refit::detail
