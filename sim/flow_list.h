#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schedule/schedule.h"
#include "sim/link_paths.h"
#include "topology/cluster.h"

namespace refit {

// What a wire-only prediction simulates, as values: tasks that wait for others and then move bytes
// over a path of links, which share their bandwidth max-min fairly. Tasks 0 .. ops-1 are the ops of
// the schedule; the others are junctions, which move nothing and only wait. Links of a number that
// the cluster does not have are limits of a way: of a flow over a WAN, of a client's connections.
struct FlowList {
  std::size_t ops = 0;
  std::vector<double> bytes;
  std::vector<PathId> path;
  std::vector<std::uint32_t> after_begin{0};  // tasks + 1 entries
  std::vector<std::uint32_t> after;           // rising per task
  LinkPaths paths;

  std::size_t tasks() const { return path.size(); }
  std::span<const std::uint32_t> after_of(std::size_t task) const {
    return std::span(after).subspan(after_begin[task], after_begin[task + 1] - after_begin[task]);
  }
  bool moves_bytes(std::size_t task) const {
    return bytes[task] > 0 && !paths.of(path[task]).empty();
  }
};

// The schedule must have passed verify. With its caps, if it has any.
FlowList flow_list(const Schedule& schedule, const Cluster& cluster);

}  // namespace refit
