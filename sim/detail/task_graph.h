#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "schedule/schedule.h"
#include "sim/link_paths.h"
#include "sim/network_model.h"
#include "topology/cluster.h"

namespace refit::detail {

using TaskId = std::uint32_t;

// `task` can't start before `before` is done.
struct Edge {
  TaskId before = 0;
  TaskId task = 0;

  friend auto operator<=>(const Edge&, const Edge&) = default;
};

// From at_s on, a link has another rate; 0: it has failed, and what needs it stands still.
struct LinkChange {
  double at_s = 0;
  LinkId link;
  double capacity_bytes_per_s = 0;
};

// A schedule as the solvers see it: tasks that wait for others, then for a delay, and then move
// bytes over a path of links. Flat arrays, since there may be millions.
//
// Tasks 0 .. ops-1 are the schedule's ops. The rest are junctions: no delay, no bytes; they stand
// for "all ops of this round on this rank" (lane_order.h).
struct TaskGraph {
  std::size_t ops = 0;
  std::vector<double> delay_s;  // latency, or the duration of a compute op
  std::vector<double> bytes;
  std::vector<PathId> path;
  std::vector<std::uint32_t> successor_begin;  // tasks() + 1 entries
  std::vector<TaskId> successors;
  std::vector<std::uint32_t> in_degree;
  LinkPaths paths;
  std::vector<LinkChange> changes;  // in time order

  std::size_t tasks() const { return path.size(); }
  std::span<const TaskId> successors_of(TaskId task) const {
    return std::span(successors)
        .subspan(successor_begin[task], successor_begin[task + 1] - successor_begin[task]);
  }
  // Whether the task shares links with others; without, it only takes its delay.
  bool moves_bytes(TaskId task) const { return bytes[task] > 0 && !paths.of(path[task]).empty(); }
};

TaskGraph make_task_graph(const Schedule& schedule, const Cluster& cluster,
                          const NetworkModel& model);

// Fills in_degree, successor_begin and successors; those of a task keep the order of the edges.
void set_edges(std::span<const Edge> edges, TaskGraph& graph);

// By path and by link: whether some task moves bytes over it.
std::vector<bool> used_paths(const TaskGraph& graph);
std::vector<bool> used_links(const TaskGraph& graph);

// Bytes over each link when all tasks are done.
std::vector<double> link_bytes(const TaskGraph& graph);

}  // namespace refit::detail
