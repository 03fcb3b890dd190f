#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/detail/task_graph.h"

namespace refit::detail {

// Lists of numbers, one per owner, in one array.
struct Lists {
  std::vector<std::uint32_t> begin;  // size() + 1 entries
  std::vector<std::uint32_t> items;

  std::size_t size() const { return begin.size() - 1; }
  std::span<const std::uint32_t> of(std::size_t owner) const {
    return std::span(items).subspan(begin[owner], begin[owner + 1] - begin[owner]);
  }
};

// Owner of an item that is in no list.
inline constexpr std::uint32_t kNoOwner = 0xffffffff;

// Items 0, 1, … by owner, each list in rising order.
Lists lists_by_owner(std::span<const std::uint32_t> owner_of_item, std::size_t owners);

// A task graph read the other way round.
struct GraphIndex {
  std::vector<TaskId> order;  // every task behind all that it waits for
  Lists predecessors;         // by task
  Lists flows_of_path;        // by path: the tasks that move bytes over it
  // By link: numbers into graph.paths.links. Paths that no task moves bytes over are left out.
  Lists crossings_of_link;
  std::vector<PathId> path_of_crossing;  // by number into graph.paths.links
};

GraphIndex make_graph_index(const TaskGraph& graph);

}  // namespace refit::detail
