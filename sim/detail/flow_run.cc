#include "sim/detail/flow_run.h"

#include <algorithm>

namespace refit::detail {
namespace {

// Events this near are one instant: equal transfers that end together differ in their last digits.
double same_instant_s(double now_s) { return 1e-12 * std::max(1.0, now_s); }

}  // namespace

FlowRun::FlowRun(const TaskGraph& graph)
    : graph_(graph),
      rates_(graph),
      timeline_(graph.tasks()),
      version_(graph.tasks(), 0),
      waits_for_(graph.in_degree),
      flowing_(graph.tasks(), false),
      left_bytes_(graph.tasks(), 0),
      since_s_(graph.tasks(), 0),
      rate_(graph.tasks(), 0) {
  for (TaskId task = 0; task < graph.tasks(); ++task) {
    if (graph.in_degree[task] == 0) ready_.push_back(task);
  }
  start_ready_tasks();
  update_flows();
}

std::optional<double> FlowRun::next_event_s() {
  while (!heap_.empty()) {
    const Event& first = heap_.front();
    if (first.version == version_[first.task]) return first.time_s;
    std::pop_heap(heap_.begin(), heap_.end(), later);
    heap_.pop_back();
  }
  return std::nullopt;
}

void FlowRun::advance() {
  const std::optional<double> next = next_event_s();
  if (!next) return;
  now_s_ = *next;
  const double until_s = now_s_ + same_instant_s(now_s_);
  due_.clear();
  while (!heap_.empty() && heap_.front().time_s <= until_s) {
    const Event event = heap_.front();
    std::pop_heap(heap_.begin(), heap_.end(), later);
    heap_.pop_back();
    if (event.version == version_[event.task]) due_.push_back(event);
  }
  for (const Event& event : due_) {
    ++version_[event.task];
    if (flowing_[event.task]) {
      rates_.remove(event.task);
      finish(event.task);
    } else {
      begin_flow(event.task);  // its delay is over
    }
  }
  start_ready_tasks();
  update_flows();
}

bool FlowRun::later(const Event& a, const Event& b) {
  return a.time_s > b.time_s || (a.time_s == b.time_s && a.task > b.task);
}

void FlowRun::schedule_event(TaskId task, double time_s) {
  heap_.push_back({time_s, task, version_[task]});
  std::push_heap(heap_.begin(), heap_.end(), later);
}

void FlowRun::start(TaskId task) {
  timeline_[task].start_s = now_s_;
  if (graph_.delay_s[task] > 0) {
    schedule_event(task, now_s_ + graph_.delay_s[task]);
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
  left_bytes_[task] = graph_.bytes[task];
  since_s_[task] = now_s_;
  rates_.add(task);
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

void FlowRun::update_flows() {
  for (const TaskId task : rates_.settle()) {
    const double moved = rate_[task] * (now_s_ - since_s_[task]);
    left_bytes_[task] = std::max(left_bytes_[task] - moved, 0.0);
    since_s_[task] = now_s_;
    rate_[task] = rates_.rate(task);
    ++version_[task];
    schedule_event(task, now_s_ + left_bytes_[task] / rate_[task]);
  }
}

}  // namespace refit::detail
