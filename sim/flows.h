#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "sim/event_heap.h"
#include "sim/max_min.h"

namespace refit {

// Events this near are one instant: equal transfers that end together differ in their last digits.
inline double same_instant_s(double now_s) { return 1e-12 * std::max(1.0, now_s); }

// Flows in time: each moves its bytes over its path at its max-min fair rate. It knows no clock;
// whoever drives it says when flows start and lets the next ones end.
class Flows {
 public:
  explicit Flows(const LinkPaths& paths) : rates_(paths) {}  // the paths must outlive it

  // At least one link; the span need not live on. `now_s` never falls from call to call, and is
  // never past the next end. A number may be used again when its flow has ended.
  void start(FlowId flow, std::span<const PathLink> links, double bytes, double now_s);
  // The flow that ends first, of equals the one with the smallest number. After all starts and ends
  // of an instant, settle() must have been called.
  struct End {
    double time_s = 0;
    FlowId flow = 0;
  };
  std::optional<End> next();
  void end(FlowId flow);
  // In two steps: after drain() the flow is no longer next() and still takes its share of links;
  // then refill(), as if another had taken over its path and rate and nobody else had noticed, or
  // end().
  void drain(FlowId flow) { ends_.erase(flow); }
  void refill(FlowId flow, double bytes, double now_s);

  // Flows over a link of capacity 0 stand still.
  void set_capacity(LinkId link, double bytes_per_s) { rates_.set_capacity(link, bytes_per_s); }
  void settle(double now_s);

  double rate(FlowId flow) const { return rates_.rate(flow); }

 private:
  struct Progress {  // as it was when the rate last changed
    double left_bytes = 0;
    double since_s = 0;
    double rate = 0;
  };

  MaxMin rates_;
  EventHeap ends_;
  std::vector<Progress> progress_;  // by flow
};

}  // namespace refit
