#include "executor/rank_program.h"

#include <algorithm>

namespace refit {

RankProgram rank_program(const Schedule& schedule, const Moves& moves, Rank rank) {
  RankProgram program;
  const auto lanes = static_cast<std::size_t>(schedule.lanes);
  std::vector<int> round_of_lane(lanes, -1);
  const auto begin_segment = [&] {
    program.segments.push_back({std::vector<std::vector<RankProgram::Round>>(lanes)});
    round_of_lane.assign(lanes, -1);
  };
  begin_segment();
  for (std::size_t id = 0; id < schedule.ops.size(); ++id) {
    const Op& op = schedule.ops[id];
    std::vector<std::uint32_t> mine;
    for (std::uint32_t m = moves.first_of_op[id]; m < moves.first_of_op[id + 1]; ++m) {
      if (moves.moves[m].src == rank || moves.moves[m].dst == rank) mine.push_back(m);
    }
    const bool in_group = op.kind != OpKind::transfer &&
                          std::ranges::count(schedule.groups[op.group.index()].ranks, rank) > 0;
    if (mine.empty() && !in_group) continue;
    if (op.kind == OpKind::compute)
      continue;  // costs time in a prediction; there is nothing to move

    const bool barrier = op.kind == OpKind::barrier;
    if (barrier) begin_segment();
    auto& rounds = program.segments.back().lanes[op.lane];
    if (rounds.empty() || round_of_lane[op.lane] != op.round) {
      rounds.emplace_back();
      round_of_lane[op.lane] = op.round;
    }
    rounds.back().moves.insert(rounds.back().moves.end(), mine.begin(), mine.end());
    rounds.back().ops.push_back(OpId(static_cast<std::int64_t>(id)));
    if (barrier) begin_segment();
  }
  return program;
}

}  // namespace refit
