#pragma once

#include <cstdint>
#include <vector>

#include "executor/moves.h"
#include "schedule/schedule.h"

namespace refit {

// NCCL carries moves in groups that end as a whole, so a group must not hold both a move and what
// it waits for. A wave is the moves of one lane and one level: what one rank posts in one group.
//
// The level of a move is higher than that of every move that must end before it begins: those it
// names, those of earlier rounds on its lane at either end, those before a barrier; and of the same
// op's earlier pieces between the same ranks, so that a ring stays a pipeline:
//
//   broadcast 0 -> 1 -> 2 in pieces a b c     level 0: 0>1 a
//                                             level 1: 0>1 b   1>2 a
//                                             level 2: 0>1 c   1>2 b
//                                             level 3:         1>2 c
//
// Every edge raises the level. Ranks that run their waves in the order of (level, lane) therefore
// never wait in a circle, whatever else a group makes wait, even if a GPU runs one kernel at a
// time.
std::vector<std::uint32_t> move_levels(const Schedule& schedule, const Moves& moves);

struct Wave {
  std::uint32_t level = 0;
  int lane = 0;
  std::vector<std::uint32_t> moves;  // in global order: both ends of a pair agree
};

// The waves of one rank, by level and lane.
std::vector<Wave> waves_of(const Schedule& schedule, const Moves& moves,
                           const std::vector<std::uint32_t>& levels, Rank rank);

}  // namespace refit
