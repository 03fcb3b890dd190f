#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/detail/task_graph.h"

namespace refit::detail {

// Max-min fair rates of flows that come and go, exact and incremental.
//
// Rates are max-min fair exactly if every flow has a bottleneck: a full link on which no flow is
// faster. So after a change only flows that may have lost theirs are computed anew (the region):
//   1. the region is the new flows, and those whose bottleneck link lost a flow;
//   2. fill: raise the region's rates together until links are full, all others keeping theirs;
//   3. flows outside whose bottleneck no longer holds join the region, and 2. repeats.
// The region grows until nobody joins. A weight w makes a flow of rate r take w*r of a link.
class MaxMin {
 public:
  explicit MaxMin(const TaskGraph& graph);  // the graph must outlive it

  // The task's path must have links.
  void add(TaskId task);
  void remove(TaskId task);

  // Brings the rates up to date and lists the flows whose rate changed. Valid until the next call.
  std::span<const TaskId> settle();

  double rate(TaskId task) const { return rate_[task]; }
  // For tests: the load of a link by the current rates.
  double load(LinkId link) const;

 private:
  struct Share {  // a flow on a link
    TaskId task = 0;
    std::uint32_t slot = 0;  // place_[slot] is this share's index in its link's list
    double weight = 0;
  };
  struct LinkState {
    std::vector<Share> shares;
    std::uint32_t touched = 0;  // pass in which a flow of the region was found here
    std::uint32_t freed = 0;    // pass in which a flow left
    // During a fill:
    double residual = 0;     // capacity left
    double open_weight = 0;  // of flows of the region without a rate
    std::uint32_t open = 0;  // how many
    double level = -1;       // rate of the flows that have their bottleneck here
  };

  std::span<const PathLink> links_of(TaskId task) const {
    return graph_.links_of(graph_.path[task]);
  }
  bool in_region(TaskId task) const { return region_pass_[task] == pass_; }
  void join(TaskId task);
  void fill();
  void open_link(LinkState& link, double capacity);
  void fix(TaskId task, double rate, std::uint32_t bottleneck);
  bool grow();

  const TaskGraph& graph_;
  std::vector<LinkState> links_;
  std::vector<std::uint32_t> place_;
  std::vector<std::uint32_t> first_slot_;  // by task: its slots are consecutive, one per link
  std::vector<std::vector<std::uint32_t>> free_slots_;  // by path: slots of flows that ended
  std::vector<double> rate_, new_rate_;
  std::vector<std::uint32_t> bottleneck_;
  std::vector<std::uint32_t> region_pass_;
  std::uint32_t pass_ = 1;

  std::vector<TaskId> added_, region_, changed_;
  std::vector<std::uint32_t> freed_, touched_;
  struct Level {
    double rate = 0;
    std::uint32_t link = 0;
  };
  std::vector<Level> heap_;
};

}  // namespace refit::detail
