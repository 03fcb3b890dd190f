#include "sim/detail/flow_run.h"

#include <algorithm>

namespace refit::detail {
FlowRun::FlowRun(const TaskGraph& graph)
    : graph_(graph),
      flows_(graph.paths),
      timeline_(graph.tasks()),
      waits_for_(graph.in_degree),
      flowing_(graph.tasks(), false) {
  for (TaskId task = 0; task < graph.tasks(); ++task) {
    if (graph.in_degree[task] == 0) ready_.push_back(task);
  }
  start_ready_tasks();
  flows_.settle(now_s_);
}

std::optional<double> FlowRun::next_event_s() {
  const auto flow = flows_.next();
  if (delays_.empty()) return flow ? std::optional(flow->time_s) : std::nullopt;
  return flow ? std::min(flow->time_s, delays_.top().end_s) : delays_.top().end_s;
}

void FlowRun::advance() {
  const std::optional<double> next = next_event_s();
  if (!next) return;
  now_s_ = *next;
  const double until_s = now_s_ + same_instant_s(now_s_);
  while (!delays_.empty() && delays_.top().end_s <= until_s) {
    begin_flow(delays_.top().task);
    delays_.pop();
  }
  for (auto flow = flows_.next(); flow && flow->time_s <= until_s; flow = flows_.next()) {
    flows_.end(flow->flow);
    flowing_[flow->flow] = false;
    finish(flow->flow);
  }
  start_ready_tasks();
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
  flowing_[task] = true;
  flows_.start(task, graph_.path[task], graph_.bytes[task], now_s_);
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

}  // namespace refit::detail
