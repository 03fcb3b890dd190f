#include "executor/rank_program.h"

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
  const auto own_moves = moves.of_rank.of(rank);
  auto next = own_moves.begin();
  for (const OpId id : moves.ops_of_rank.of(rank)) {
    const Op& op = schedule.ops[id.index()];
    const auto first = next;
    while (next != own_moves.end() && moves.moves[*next].op == id) ++next;

    const bool barrier = op.kind == OpKind::barrier;
    if (barrier) begin_segment();
    auto& rounds = program.segments.back().lanes[op.lane];
    if (rounds.empty() || round_of_lane[op.lane] != op.round) {
      rounds.emplace_back();
      round_of_lane[op.lane] = op.round;
    }
    rounds.back().moves.insert(rounds.back().moves.end(), first, next);
    rounds.back().ops.push_back(id);
    if (barrier) begin_segment();
  }
  return program;
}

}  // namespace refit
