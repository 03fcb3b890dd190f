#include "sim/flows.h"

#include <algorithm>

namespace refit {

bool Flows::later(const Event& a, const Event& b) {
  return a.time_s > b.time_s || (a.time_s == b.time_s && a.flow > b.flow);
}

void Flows::make_room(FlowId flow) {
  if (flow < version_.size()) return;
  // Grows like a vector, or many small steps would be quadratic.
  const std::size_t size = std::max<std::size_t>(flow + 1, 2 * version_.size());
  version_.resize(size, 0);
  left_bytes_.resize(size, 0);
  since_s_.resize(size, 0);
  rate_.resize(size, 0);
}

void Flows::push_end(FlowId flow) {
  if (rate_[flow] <= 0) return;  // over a link that has failed
  heap_.push_back({since_s_[flow] + left_bytes_[flow] / rate_[flow], flow, version_[flow]});
  std::push_heap(heap_.begin(), heap_.end(), later);
}

void Flows::start(FlowId flow, PathId path, double bytes, double now_s) {
  make_room(flow);
  left_bytes_[flow] = bytes;
  since_s_[flow] = now_s;
  rate_[flow] = 0;
  rates_.add(flow, path);
}

std::optional<Flows::End> Flows::next() {
  while (!heap_.empty()) {
    const Event& first = heap_.front();
    if (first.version == version_[first.flow]) return End{first.time_s, first.flow};
    std::pop_heap(heap_.begin(), heap_.end(), later);
    heap_.pop_back();
  }
  return std::nullopt;
}

void Flows::end(FlowId flow) {
  ++version_[flow];
  rates_.remove(flow);
}

void Flows::hand_over(FlowId flow, FlowId next, double bytes, double now_s) {
  make_room(next);
  rates_.hand_over(flow, next);
  left_bytes_[next] = bytes;
  since_s_[next] = now_s;
  rate_[next] = rate_[flow];
  push_end(next);
}

void Flows::settle(double now_s) {
  for (const FlowId flow : rates_.settle()) {
    const double moved = rate_[flow] * (now_s - since_s_[flow]);
    left_bytes_[flow] = std::max(left_bytes_[flow] - moved, 0.0);
    since_s_[flow] = now_s;
    rate_[flow] = rates_.rate(flow);
    ++version_[flow];
    push_end(flow);
  }
}

}  // namespace refit
