#include "executor/cuda/waves.h"

#include <algorithm>
#include <map>
#include <utility>

namespace refit {
namespace {

// Where one rank stands on its lanes while the ops go by in global order.
struct Progress {
  struct Lane {
    int round = -1;
    std::uint32_t floor = 0;  // lowest level of the round that runs
    std::uint32_t next = 0;   // lowest level of the round after it
  };
  std::vector<Lane> lanes;
  std::uint32_t next = 0;  // of all lanes: where a barrier would stand
};

class Levels {
 public:
  Levels(const Schedule& schedule, const Moves& moves)
      : schedule_(schedule),
        moves_(moves),
        level_(moves.moves.size(), 0),
        after_op_(schedule.ops.size(), 0),
        ranks_(static_cast<std::size_t>(schedule.ranks)) {
    for (Progress& rank : ranks_) rank.lanes.resize(static_cast<std::size_t>(schedule.lanes));
  }

  std::vector<std::uint32_t> run() {
    for (std::size_t id = 0; id < schedule_.ops.size(); ++id) {
      const Op& op = schedule_.ops[id];
      if (op.kind == OpKind::barrier) meet(op);
      place(id, op);
      if (op.kind == OpKind::barrier) meet(op);
    }
    return std::move(level_);
  }

 private:
  // Nothing before a barrier, on any lane of the group's ranks, shares a level with what follows.
  void meet(const Op& op) {
    for (const Rank rank : schedule_.groups[op.group.index()].ranks) {
      Progress& at = ranks_[rank.index()];
      for (auto& lane : at.lanes) lane = {-1, at.next, at.next};
    }
  }

  std::uint32_t floor(Rank rank, const Op& op) {
    auto& lane = ranks_[rank.index()].lanes[op.lane];
    if (lane.round != op.round) {
      lane.round = op.round;
      lane.floor = lane.next;
    }
    return lane.floor;
  }

  void place(std::size_t id, const Op& op) {
    std::uint32_t ready = 0;
    for (const OpId earlier : schedule_.after_of(op))
      ready = std::max(ready, after_op_[earlier.index()]);
    after_op_[id] = ready;
    std::map<std::pair<Rank, Rank>, std::uint32_t> next_piece;
    for (std::uint32_t m = moves_.first_of_op[id]; m < moves_.first_of_op[id + 1]; ++m) {
      const Move& move = moves_.moves[m];
      std::uint32_t& piece = next_piece[{move.src, move.dst}];
      std::uint32_t level = std::max({ready, piece, floor(move.src, op), floor(move.dst, op)});
      for (const std::uint32_t earlier : moves_.after_of(move))
        level = std::max(level, level_[earlier] + 1);
      level_[m] = level;
      piece = level + 1;
      after_op_[id] = std::max(after_op_[id], level + 1);
      for (const Rank rank : {move.src, move.dst}) {
        Progress& at = ranks_[rank.index()];
        at.next = std::max(at.next, level + 1);
        auto& lane = at.lanes[op.lane];
        lane.next = std::max(lane.next, level + 1);
      }
    }
  }

  const Schedule& schedule_;
  const Moves& moves_;
  std::vector<std::uint32_t> level_;
  std::vector<std::uint32_t> after_op_;  // lowest level of what waits for the op
  std::vector<Progress> ranks_;
};

}  // namespace

std::vector<std::uint32_t> move_levels(const Schedule& schedule, const Moves& moves) {
  return Levels(schedule, moves).run();
}

std::vector<Wave> waves_of(const Schedule& schedule, const Moves& moves,
                           const std::vector<std::uint32_t>& levels, Rank rank) {
  std::map<std::pair<std::uint32_t, int>, Wave> waves;
  for (std::uint32_t m = 0; m < moves.moves.size(); ++m) {
    const Move& move = moves.moves[m];
    if (move.src != rank && move.dst != rank) continue;
    const int lane = schedule.ops[move.op.index()].lane;
    Wave& wave = waves[{levels[m], lane}];
    wave.level = levels[m];
    wave.lane = lane;
    wave.moves.push_back(m);
  }
  std::vector<Wave> result;
  for (auto& [key, wave] : waves) result.push_back(std::move(wave));
  return result;
}

}  // namespace refit
