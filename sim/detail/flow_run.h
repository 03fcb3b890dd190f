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
  // The graph must outlive it. Starts the first tasks. `merge`: a transfer that begins when another
  // on its path ends takes over its rate.
  explicit FlowRun(const TaskGraph& graph, bool merge = true);

  std::optional<double> next_event_s();
  // Lets the next event happen, with all others of the same instant.
  void advance();

  // Start and end of every task when no event is left; infinity for what never came.
  const Timeline& timeline() const { return timeline_; }
  std::size_t merged() const { return merged_; }  // how many took over
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
  void end_flows();

  const TaskGraph& graph_;
  Flows flows_;
  std::priority_queue<Delay> delays_;
  Timeline timeline_;
  std::size_t next_change_ = 0;
  double now_s_ = 0;
  std::vector<std::uint32_t> waits_for_;
  std::vector<bool> flowing_;
  std::vector<TaskId> ready_;
  bool merge_ = true;
  std::size_t merged_ = 0;
  std::vector<TaskId> ended_;          // of this instant, still in flows_
  std::vector<TaskId> ended_on_path_;  // by path: one of them
};

}  // namespace refit::detail
