#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/max_min.h"

namespace refit {

// Events this near are one instant: equal transfers that end together differ in their last digits.
inline double same_instant_s(double now_s) { return 1e-12 * std::max(1.0, now_s); }

// Flows in time: each moves its bytes over its path at its max-min fair rate. It knows no clock;
// whoever drives it says when flows start and lets the next ones end.
class Flows {
 public:
  explicit Flows(const LinkPaths& paths) : rates_(paths) {}  // the paths must outlive it

  // The path must have links. `now_s` never falls from call to call, and is never past the next
  // end. A number may be used again when its flow has ended.
  void start(FlowId flow, PathId path, double bytes, double now_s);
  // The flow that ends first, of equals the one with the smallest number. After all starts and ends
  // of an instant, settle() must have been called.
  struct End {
    double time_s = 0;
    FlowId flow = 0;
  };
  std::optional<End> next();
  void end(FlowId flow);
  // The flow has no next() any more; it keeps its rate until end() or hand_over().
  void expire(FlowId flow) { ++version_[flow]; }
  // After expire(), instead of end() and start() on the same path: nobody else's rate changes.
  void hand_over(FlowId flow, FlowId next, double bytes, double now_s);
  void set_capacity(LinkId link, double bytes_per_s) { rates_.set_capacity(link, bytes_per_s); }
  void settle(double now_s);

  double rate(FlowId flow) const { return rates_.rate(flow); }

 private:
  struct Event {
    double time_s = 0;
    FlowId flow = 0;
    std::uint32_t version = 0;  // an event is void once its flow's version has moved on
  };
  void make_room(FlowId flow);
  void push_end(FlowId flow);
  static bool later(const Event& a, const Event& b);

  MaxMin rates_;
  std::vector<Event> heap_;
  std::vector<std::uint32_t> version_;
  std::vector<double> left_bytes_, since_s_, rate_;  // what was left when the rate last changed
};

}  // namespace refit
