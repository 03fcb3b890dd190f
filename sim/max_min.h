#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/link_paths.h"

namespace refit {

using FlowId = std::uint32_t;

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
  explicit MaxMin(const LinkPaths& paths);  // must outlive it; paths may be added meanwhile

  // The path must have links. Numbers of flows should be dense.
  void add(FlowId flow, PathId path);
  void remove(FlowId flow);
  // `next` goes on where `flow` was, at its rate and on its path, as if both were one flow. Only
  // between settle() and the next add or remove of `flow`.
  void hand_over(FlowId flow, FlowId next);

  // 0: flows over the link stand still.
  void set_capacity(LinkId link, double bytes_per_s);

  // Brings the rates up to date and lists the flows whose rate changed. Valid until the next call.
  std::span<const FlowId> settle();

  double rate(FlowId flow) const { return rate_[flow]; }
  // For tests: the load of a link by the current rates.
  double load(LinkId link) const;

 private:
  struct Share {  // a flow on a link
    FlowId flow = 0;
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

  void make_room(FlowId flow);
  std::span<const PathLink> links_of(FlowId flow) const { return paths_.of(path_[flow]); }
  bool in_region(FlowId flow) const { return region_pass_[flow] == pass_; }
  void join(FlowId flow);
  void fill();
  void open_link(LinkState& link, double capacity);
  void fix(FlowId flow, double rate, std::uint32_t bottleneck);
  bool grow();

  const LinkPaths& paths_;
  std::vector<double> capacity_bytes_per_s_;  // by link
  std::vector<LinkState> links_;
  std::vector<std::uint32_t> place_;
  std::vector<std::uint32_t> first_slot_;  // by flow: its slots are consecutive, one per link
  std::vector<std::vector<std::uint32_t>> free_slots_;  // by path: slots of flows that ended
  std::vector<double> rate_, new_rate_;
  std::vector<PathId> path_;  // by flow
  std::vector<std::uint32_t> bottleneck_;
  std::vector<std::uint32_t> region_pass_;
  std::uint32_t pass_ = 1;

  std::vector<FlowId> added_, region_, changed_;
  std::vector<std::uint32_t> freed_, touched_;
  std::vector<std::uint32_t> resized_;  // links with another capacity
  struct Level {
    double rate = 0;
    std::uint32_t link = 0;
  };
  std::vector<Level> heap_;
};

}  // namespace refit
