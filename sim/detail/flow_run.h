#pragma once

#include <cstdint>
#include <optional>
#include <queue>
#include <vector>

#include "schedule/timeline.h"
#include "sim/detail/task_graph.h"
#include "sim/flows.h"

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
  double rate(TaskId task) const { return flowing_[task] ? flows_.rate(task) : 0; }

 private:
  struct Delay {
    double end_s = 0;
    TaskId task = 0;
    friend bool operator<(const Delay& a, const Delay& b) {  // the earliest is on top
      return a.end_s != b.end_s ? a.end_s > b.end_s : a.task > b.task;
    }
  };

  void start(TaskId task);
  void begin_flow(TaskId task);
  void finish(TaskId task);
  void start_ready_tasks();

  const TaskGraph& graph_;
  Flows flows_;
  std::priority_queue<Delay> delays_;
  Timeline timeline_;
  double now_s_ = 0;
  std::vector<std::uint32_t> waits_for_;
  std::vector<bool> flowing_;
  std::vector<TaskId> ready_;
};

}  // namespace refit::detail
