#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/id.h"
#include "sim/detail/task_graph.h"

namespace refit::detail {

// Turns lanes and rounds into edges. On each rank a lane is a queue of rounds; the ops of a round
// run together, and the next round waits for all of them:
//
//   round 0: a, b      a ─┐
//   round 1: c            ├─ junction ── c
//                      b ─┘
//
// A round of one op needs no junction, and ranks whose rounds hold the same ops share one, so that
// a chain of collectives over a thousand ranks costs one edge per op, not a thousand.
class LaneOrder {
 public:
  // Junctions are numbered from `first_junction`.
  LaneOrder(int ranks, int lanes, TaskId first_junction);

  // The calls for one task come one after the other; tasks come in the order of their ids.
  void after(TaskId task, TaskId before);
  void place(TaskId task, int lane, std::int32_t round, Rank rank);
  // One end of a transfer on a lane with a window: waits for the op that many places before it.
  void queue(TaskId task, int lane, bool sending, std::uint16_t width, Rank rank);
  // Waits for everything placed earlier on the rank, on any lane; all that follows waits for it.
  void barrier(TaskId task, Rank rank);

  const std::vector<Edge>& edges() const { return edges_; }
  TaskId tasks() const { return next_junction_; }

 private:
  // A set of ops is its largest op added to a smaller set; equal sets have equal ids.
  using SetId = std::uint32_t;
  struct Set {
    SetId rest = 0;
    TaskId task = 0;
    TaskId joined = 0;  // what stands for the whole set, once asked for
    SetId grown = 0;    // the set last made from this one, by adding `grown_by`
    TaskId grown_by = 0;
  };
  struct Queue {
    std::int32_t round = 0;
    TaskId gate = 0;  // what the current round waits for
    SetId current = 0;
  };

  // Of a rank on a lane with a window: one for sending, one for receiving.
  struct Window {
    std::vector<TaskId> last;  // as many as may run at a time; all, if any number may
    std::size_t oldest = 0;
    TaskId gate = 0;
  };
  Window& window(int lane, bool sending, Rank rank);

  SetId with(SetId set, TaskId task);
  TaskId joined(SetId set);
  Queue& rounds(int lane, Rank rank) {
    return queues_[static_cast<std::size_t>(lane) * ranks_ + rank.index()];
  }

  std::size_t ranks_ = 0;
  int lanes_ = 0;
  std::vector<Queue> queues_;
  std::vector<Window> windows_;  // empty if no lane has one
  std::vector<Set> sets_;        // 0: the empty set
  std::vector<TaskId> seen_;     // by task: the task that last got an edge from it
  std::vector<Edge> edges_;
  TaskId next_junction_ = 0;
};

}  // namespace refit::detail
