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
//
// A task that moves bytes sits on a seat, which is a flow's number. Seats are used again, so that
// what the solver reads stays as small as what is under way.
class FlowRun {
 public:
  // The graph must outlive it. Starts the first tasks. `merge`: a task that begins when another on
  // its path ends takes over its seat, and no rate is computed anew.
  explicit FlowRun(const TaskGraph& graph, bool merge = true);

  std::optional<double> next_event_s();
  // Lets the next event happen, with all others of the same instant.
  void advance();

  // Start and end of every task when no event is left; infinity for what never came.
  const Timeline& timeline() const { return timeline_; }
  std::size_t merged() const { return merged_; }  // how many took over
  // For tests, since it looks at every seat: 0 if the task is not moving bytes.
  double rate(TaskId task) const;

 private:
  using Seat = FlowId;
  struct Delay {
    double end_s = 0;
    TaskId task = 0;
    friend bool operator<(const Delay& a, const Delay& b) {  // the earliest is on top
      return a.end_s != b.end_s ? a.end_s > b.end_s : a.task > b.task;
    }
  };

  void start(TaskId task);
  void begin_flow(TaskId task);
  bool take_over(TaskId task);
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
  std::vector<TaskId> ready_;
  std::vector<TaskId> sitter_;  // by seat; nobody's is kNone
  std::vector<Seat> free_seats_;

  // Tasks that ended in this instant leave their seats to others on their path.
  bool merge_ = true;
  std::size_t merged_ = 0;
  std::vector<Seat> ended_;
  std::vector<Seat> left_on_path_;  // by path: the last that was left
  std::vector<Seat> left_before_;   // by seat: the one left before it on its path
};

}  // namespace refit::detail
