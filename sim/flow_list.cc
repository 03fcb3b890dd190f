#include "sim/flow_list.h"

#include <numeric>
#include <utility>

#include "sim/detail/task_graph.h"
#include "sim/network_model.h"

namespace refit {
namespace {

FlowList list_of(detail::TaskGraph graph) {
  FlowList list;
  list.ops = graph.ops;
  list.after_begin.assign(graph.tasks() + 1, 0);
  for (std::size_t task = 0; task < graph.tasks(); ++task)
    list.after_begin[task + 1] = graph.in_degree[task];
  std::partial_sum(list.after_begin.begin(), list.after_begin.end(), list.after_begin.begin());
  std::vector<std::uint32_t> next(list.after_begin.begin(), list.after_begin.end() - 1);
  list.after.resize(list.after_begin.back());
  for (detail::TaskId task = 0; task < graph.tasks(); ++task)
    for (const detail::TaskId waiting : graph.successors_of(task))
      list.after[next[waiting]++] = task;
  list.bytes = std::move(graph.bytes);
  list.path = std::move(graph.path);
  list.paths = std::move(graph.paths);
  return list;
}

}  // namespace

FlowList flow_list(const Schedule& schedule, const Cluster& cluster) {
  if (schedule.caps.any())
    return list_of(detail::make_task_graph(schedule, cluster.capped(schedule.caps), wire_only()));
  return list_of(detail::make_task_graph(schedule, cluster, wire_only()));
}

}  // namespace refit
