#include "sim/detail/lane_order.h"

#include <limits>

#include "base/check.h"

namespace refit::detail {
namespace {

constexpr TaskId kNobody = std::numeric_limits<TaskId>::max();
constexpr std::int32_t kBeforeAll = std::numeric_limits<std::int32_t>::min();

}  // namespace

LaneOrder::LaneOrder(int ranks, int lanes, TaskId first_junction)
    : ranks_(static_cast<std::size_t>(ranks)),
      lanes_(lanes),
      queues_(ranks_ * static_cast<std::size_t>(lanes), Queue{kBeforeAll, kNobody, 0}),
      sets_(1, Set{0, kNobody, kNobody, 0, kNobody}),
      seen_(first_junction, kNobody),
      next_junction_(first_junction) {
  edges_.reserve(2 * std::size_t{first_junction});  // a transfer waits on two ranks
}

void LaneOrder::after(TaskId task, TaskId before) {
  REFIT_CHECK(before != task);
  if (before == kNobody || seen_[before] == task) return;
  seen_[before] = task;
  edges_.push_back({before, task});
}

void LaneOrder::place(TaskId task, int lane, std::int32_t round, Rank rank) {
  REFIT_CHECK(lane < lanes_ && rank.index() < ranks_);
  Queue& here = rounds(lane, rank);
  if (round != here.round) {
    REFIT_CHECK(round > here.round);  // verify has seen that lanes are in round order
    if (here.current != 0) here.gate = joined(here.current);
    here.current = 0;
    here.round = round;
  }
  after(task, here.gate);
  here.current = with(here.current, task);
}

void LaneOrder::barrier(TaskId task, Rank rank) {
  REFIT_CHECK(rank.index() < ranks_);
  for (int lane = 0; lane < lanes_; ++lane) {
    Queue& here = rounds(lane, rank);
    const TaskId last = here.current != 0 ? joined(here.current) : here.gate;
    if (last != task) after(task, last);  // a rank listed twice has met it already
    here.gate = task;
    here.current = 0;
    if (windows_.empty()) continue;
    for (const bool sending : {true, false}) {
      Window& side = window(lane, sending, rank);
      after(task, side.gate);
      for (const TaskId earlier : side.last) after(task, earlier);
      side = {{}, 0, task};
    }
  }
}

LaneOrder::Window& LaneOrder::window(int lane, bool sending, Rank rank) {
  if (windows_.empty()) windows_.resize(2 * queues_.size(), Window{{}, 0, kNobody});
  const std::size_t at = static_cast<std::size_t>(lane) * ranks_ + rank.index();
  return windows_[2 * at + (sending ? 1 : 0)];
}

void LaneOrder::queue(TaskId task, int lane, bool sending, std::uint16_t width, Rank rank) {
  REFIT_CHECK(lane < lanes_ && rank.index() < ranks_);
  Window& side = window(lane, sending, rank);
  // A barrier before the first op of the lane is known to its queue of rounds only.
  after(task, side.gate != kNobody ? side.gate : rounds(lane, rank).gate);
  if (width == 0 || side.last.size() < width) {
    side.last.push_back(task);
    return;
  }
  after(task, side.last[side.oldest]);
  side.last[side.oldest] = task;
  side.oldest = (side.oldest + 1) % width;
}

LaneOrder::SetId LaneOrder::with(SetId set, TaskId task) {
  if (set != 0 && sets_[set].task == task) return set;  // a rank that takes part twice
  if (sets_[set].grown_by == task) return sets_[set].grown;
  const auto made = static_cast<SetId>(sets_.size());
  sets_[set].grown = made;
  sets_[set].grown_by = task;
  sets_.push_back({set, task, kNobody, 0, kNobody});
  return made;
}

TaskId LaneOrder::joined(SetId set) {
  if (sets_[set].joined != kNobody) return sets_[set].joined;
  if (sets_[set].rest == 0) return sets_[set].joined = sets_[set].task;
  const TaskId junction = next_junction_++;
  REFIT_CHECK(junction < kNobody);
  seen_.push_back(kNobody);
  for (SetId s = set; s != 0; s = sets_[s].rest) edges_.push_back({sets_[s].task, junction});
  return sets_[set].joined = junction;
}

}  // namespace refit::detail
