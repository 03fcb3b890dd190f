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
//   1. the region is the new flows, those whose bottleneck link lost a flow, and all on a link
//      whose capacity changed;
//   2. fill: raise the region's rates together until links are full, all others keeping theirs;
//   3. flows outside whose bottleneck no longer holds join the region, and 2. repeats.
// The region grows until nobody joins. A weight w makes a flow of rate r take w*r of a link.
//
// Time goes into reading memory, so what is read together lies together, in the order of flows and
// not of the many paths.
class MaxMin {
 public:
  explicit MaxMin(const LinkPaths& paths);  // must outlive it; paths may be added meanwhile

  // At least one link; the span need not live on. Numbers of flows should be dense.
  void add(FlowId flow, std::span<const PathLink> links);
  void add(FlowId flow, PathId path) { add(flow, paths_.of(path)); }
  void remove(FlowId flow);
  // 0: flows over the link stand still.
  void set_capacity(LinkId link, double bytes_per_s);

  // Brings the rates up to date and lists the flows whose rate changed. Valid until the next call.
  std::span<const FlowId> settle();

  double rate(FlowId flow) const { return flows_[flow].rate; }
  // For tests: the load of a link by the current rates.
  double load(LinkId link) const;

 private:
  using LinkIndex = std::uint32_t;
  struct Flow {
    double rate = 0;
    double new_rate = 0;  // what the region's fill says
    LinkIndex bottleneck = 0;
    std::uint32_t region = 0;     // pass in which it joined the region
    std::uint32_t crossings = 0;  // its first; consecutive, one per link
    std::uint32_t crossing_count = 0;
  };
  struct Crossing {
    LinkIndex link = 0;
    std::uint32_t place = 0;  // of its share in the link's list
    double weight = 0;
  };
  struct Share {  // a flow on a link
    FlowId flow = 0;
    std::uint32_t crossing = 0;
    double weight = 0;
  };
  struct LinkState {
    std::vector<Share> shares;
    double capacity_bytes_per_s = 0;
    std::uint32_t touched = 0;  // pass in which a flow of the region was found here
    std::uint32_t freed = 0;    // pass in which a flow left
    // During a fill:
    std::uint32_t open = 0;     // flows of the region without a rate
    std::uint32_t outside = 0;  // flows that are not of the region
    double open_weight = 0;     // of the open ones
    double residual = 0;        // capacity left
    double level = -1;          // rate of the flows that have their bottleneck here
  };

  std::span<Crossing> crossings_of(const Flow& flow) {
    return std::span(crossings_).subspan(flow.crossings, flow.crossing_count);
  }
  bool in_region(FlowId flow) const { return flows_[flow].region == pass_; }
  std::uint32_t take_crossings(std::size_t count);
  void join(FlowId flow);
  bool fix_if_alone(Flow& flow);
  void fill();
  void open_link(LinkState& link);
  void fix(Flow& flow, double rate, LinkIndex bottleneck);
  void grow_on(LinkIndex l);
  bool grow();

  const LinkPaths& paths_;
  std::vector<LinkState> links_;
  std::vector<Flow> flows_;
  std::vector<Crossing> crossings_;
  std::vector<std::vector<std::uint32_t>> free_crossings_;  // by how many are consecutive
  std::uint32_t pass_ = 1;

  std::vector<FlowId> added_, region_, changed_;
  std::vector<FlowId> alone_;  // of the region, on links without others
  std::vector<LinkIndex> freed_, resized_, touched_;
  struct Level {
    double rate = 0;
    LinkIndex link = 0;
  };
  std::vector<Level> heap_;
};

}  // namespace refit
