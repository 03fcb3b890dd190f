#include "sim/detail/graph_index.h"

#include <numeric>

#include "base/check.h"

namespace refit::detail {
namespace {

Lists predecessors(const TaskGraph& graph) {
  Lists before;
  before.begin.assign(graph.tasks() + 1, 0);
  for (std::size_t t = 0; t < graph.tasks(); ++t) {
    before.begin[t + 1] = before.begin[t] + graph.in_degree[t];
  }
  std::vector<std::uint32_t> next(before.begin.begin(), before.begin.end() - 1);
  before.items.resize(before.begin.back());
  for (TaskId t = 0; t < graph.tasks(); ++t) {
    for (const TaskId after : graph.successors_of(t)) before.items[next[after]++] = t;
  }
  return before;
}

// A junction's number is larger than those of the ops behind it, so numbers are no such order.
std::vector<TaskId> topological_order(const TaskGraph& graph) {
  std::vector<std::uint32_t> waits_for = graph.in_degree;
  std::vector<TaskId> order;
  order.reserve(graph.tasks());
  for (TaskId t = 0; t < graph.tasks(); ++t) {
    if (waits_for[t] == 0) order.push_back(t);
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (const TaskId after : graph.successors_of(order[i])) {
      if (--waits_for[after] == 0) order.push_back(after);
    }
  }
  REFIT_CHECK(order.size() == graph.tasks());  // no cycle: verify has seen it
  return order;
}

}  // namespace

Lists lists_by_owner(std::span<const std::uint32_t> owner_of_item, std::size_t owners) {
  Lists lists;
  lists.begin.assign(owners + 1, 0);
  for (const std::uint32_t owner : owner_of_item) {
    if (owner != kNoOwner) ++lists.begin[owner + 1];
  }
  std::partial_sum(lists.begin.begin(), lists.begin.end(), lists.begin.begin());
  std::vector<std::uint32_t> next(lists.begin.begin(), lists.begin.end() - 1);
  lists.items.resize(lists.begin.back());
  for (std::uint32_t i = 0; i < owner_of_item.size(); ++i) {
    if (owner_of_item[i] != kNoOwner) lists.items[next[owner_of_item[i]]++] = i;
  }
  return lists;
}

GraphIndex make_graph_index(const TaskGraph& graph) {
  GraphIndex index;
  index.order = topological_order(graph);
  index.predecessors = predecessors(graph);

  std::vector<std::uint32_t> path_of_task(graph.tasks(), kNoOwner);
  for (TaskId t = 0; t < graph.tasks(); ++t) {
    if (graph.moves_bytes(t)) path_of_task[t] = graph.path[t];
  }
  index.flows_of_path = lists_by_owner(path_of_task, graph.paths.size());

  const std::size_t crossings = graph.paths.links.size();
  std::vector<std::uint32_t> link_of_crossing(crossings, kNoOwner);
  index.path_of_crossing.resize(crossings);
  for (PathId p = 0; p < graph.paths.size(); ++p) {
    for (std::uint32_t c = graph.paths.begin[p]; c < graph.paths.begin[p + 1]; ++c) {
      index.path_of_crossing[c] = p;
      if (index.flows_of_path.of(p).empty()) continue;
      link_of_crossing[c] = static_cast<std::uint32_t>(graph.paths.links[c].link.index());
    }
  }
  index.crossings_of_link =
      lists_by_owner(link_of_crossing, graph.paths.capacity_bytes_per_s.size());
  return index;
}

}  // namespace refit::detail
