#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "schedule/timeline.h"
#include "sim/detail/max_min.h"
#include "sim/detail/task_graph.h"

namespace refit::detail {

// A task graph on the way: the events of delays and flows in time order. It knows no clock; whoever
// drives it asks for the next event and lets it happen.
class FlowRun {
 public:
  explicit FlowRun(const TaskGraph& graph);  // the graph must outlive it; starts the first tasks

  std::optional<double> next_event_s();
  // Lets the next event happen, with all others of the same instant.
  void advance();

  // Start and end of every task; complete when no event is left.
  const Timeline& timeline() const { return timeline_; }
  const MaxMin& rates() const { return rates_; }

 private:
  struct Event {
    double time_s = 0;
    TaskId task = 0;
    std::uint32_t version = 0;  // an event is void once its task's version has moved on
  };
  static bool later(const Event& a, const Event& b);

  void schedule_event(TaskId task, double time_s);
  void start(TaskId task);
  void begin_flow(TaskId task);
  void finish(TaskId task);
  void start_ready_tasks();
  void update_flows();

  const TaskGraph& graph_;
  MaxMin rates_;
  Timeline timeline_;
  double now_s_ = 0;
  std::vector<Event> heap_;
  std::vector<std::uint32_t> version_, waits_for_;
  std::vector<bool> flowing_;
  // Of flows: what was left when their rate last changed.
  std::vector<double> left_bytes_, since_s_, rate_;
  std::vector<TaskId> ready_;
  std::vector<Event> due_;
};

}  // namespace refit::detail
