#include "sim/detail/flow_run.h"

#include <algorithm>
#include <limits>

namespace refit::detail {
namespace {

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
constexpr double kNever = std::numeric_limits<double>::infinity();

}  // namespace

FlowRun::FlowRun(const TaskGraph& graph, bool merge)
    : graph_(graph),
      flows_(graph.paths),
      timeline_(graph.tasks(), {kNever, kNever}),
      waits_for_(graph.in_degree),
      merge_(merge),
      left_on_path_(merge ? graph.paths.size() : 0, kNone) {
  for (TaskId task = 0; task < graph.tasks(); ++task) {
    if (graph.in_degree[task] == 0) ready_.push_back(task);
  }
  start_ready_tasks();
  flows_.settle(now_s_);
}

std::optional<double> FlowRun::next_event_s() {
  double next_s = kNever;
  if (const auto flow = flows_.next()) next_s = flow->time_s;
  if (!delays_.empty()) next_s = std::min(next_s, delays_.top().end_s);
  if (next_change_ < graph_.changes.size())
    next_s = std::min(next_s, graph_.changes[next_change_].at_s);
  return next_s < kNever ? std::optional(next_s) : std::nullopt;
}

void FlowRun::advance() {
  const std::optional<double> next = next_event_s();
  if (!next) return;
  now_s_ = *next;
  const double until_s = now_s_ + same_instant_s(now_s_);
  for (; next_change_ < graph_.changes.size() && graph_.changes[next_change_].at_s <= until_s;
       ++next_change_) {
    const LinkChange& change = graph_.changes[next_change_];
    flows_.set_capacity(change.link, change.capacity_bytes_per_s);
  }
  while (!delays_.empty() && delays_.top().end_s <= until_s) {
    begin_flow(delays_.top().task);
    delays_.pop();
  }
  for (auto flow = flows_.next(); flow && flow->time_s <= until_s; flow = flows_.next()) {
    flows_.drain(flow->flow);
    ended_.push_back(flow->flow);
    const TaskId task = sitter_[flow->flow];
    if (merge_) {
      Seat& left = left_on_path_[graph_.path[task]];
      left_before_[flow->flow] = left;
      left = flow->flow;
    }
    finish(task);
  }
  start_ready_tasks();
  end_flows();
  flows_.settle(now_s_);
}

void FlowRun::start(TaskId task) {
  timeline_[task].start_s = now_s_;
  if (graph_.delay_s[task] > 0) {
    delays_.push({now_s_ + graph_.delay_s[task], task});
  } else {
    begin_flow(task);
  }
}

void FlowRun::begin_flow(TaskId task) {
  if (!graph_.moves_bytes(task)) {
    finish(task);
    return;
  }
  if (merge_ && take_over(task)) return;
  if (free_seats_.empty()) {
    free_seats_.push_back(static_cast<Seat>(sitter_.size()));
    sitter_.push_back(kNone);
    left_before_.push_back(kNone);
  }
  const Seat seat = free_seats_.back();
  free_seats_.pop_back();
  sitter_[seat] = task;
  flows_.start(seat, graph_.paths.of(graph_.path[task]), graph_.bytes[task], now_s_);
}

bool FlowRun::take_over(TaskId task) {
  if (ended_.empty()) return false;
  Seat& left = left_on_path_[graph_.path[task]];
  if (left == kNone) return false;
  const Seat seat = left;
  left = left_before_[seat];
  sitter_[seat] = task;
  flows_.refill(seat, graph_.bytes[task], now_s_);
  ++merged_;
  return true;
}

void FlowRun::finish(TaskId task) {
  timeline_[task].end_s = now_s_;
  for (const TaskId next : graph_.successors_of(task)) {
    if (--waits_for_[next] == 0) ready_.push_back(next);
  }
}

// Tasks without delay and bytes finish at once and make others ready, so the list grows underway.
void FlowRun::start_ready_tasks() {
  for (std::size_t i = 0; i < ready_.size(); ++i) start(ready_[i]);
  ready_.clear();
}

// Those whose seat nobody took over.
void FlowRun::end_flows() {
  for (const Seat seat : ended_) {
    const TaskId task = sitter_[seat];
    if (merge_) left_on_path_[graph_.path[task]] = kNone;
    if (timeline_[task].end_s == kNever) continue;  // another sits there by now
    flows_.end(seat);
    sitter_[seat] = kNone;
    free_seats_.push_back(seat);
  }
  ended_.clear();
}

double FlowRun::rate(TaskId task) const {
  const auto seat = std::ranges::find(sitter_, task);
  return seat == sitter_.end() ? 0 : flows_.rate(static_cast<Seat>(seat - sitter_.begin()));
}

}  // namespace refit::detail
