#include "sim/flows.h"

namespace refit {

void Flows::start(FlowId flow, std::span<const PathLink> links, double bytes, double now_s) {
  if (flow >= progress_.size()) progress_.resize(flow + 1);
  progress_[flow] = {bytes, now_s, 0};
  rates_.add(flow, links);
}

std::optional<Flows::End> Flows::next() {
  if (ends_.empty()) return std::nullopt;
  return End{ends_.first().time_s, ends_.first().id};
}

void Flows::end(FlowId flow) {
  ends_.erase(flow);
  rates_.remove(flow);
}

void Flows::refill(FlowId flow, double bytes, double now_s) {
  Progress& progress = progress_[flow];
  progress = {bytes, now_s, progress.rate};
  ends_.set(flow, now_s + bytes / progress.rate);
}

void Flows::settle(double now_s) {
  for (const FlowId flow : rates_.settle()) {
    Progress& progress = progress_[flow];
    const double moved = progress.rate * (now_s - progress.since_s);
    progress = {std::max(progress.left_bytes - moved, 0.0), now_s, rates_.rate(flow)};
    if (progress.rate > 0) {
      ends_.set(flow, now_s + progress.left_bytes / progress.rate);
    } else {
      ends_.erase(flow);
    }
  }
}

}  // namespace refit
