#pragma once

#include <cstdint>
#include <vector>

#include "executor/moves.h"
#include "schedule/schedule.h"

namespace refit {

// One rank's part of a plan: what it sends and receives, lane by lane, round by round. Derived,
// never edited; all ranks derive theirs from the same moves, so both ends of a message agree on its
// place.
struct RankProgram {
  struct Round {
    std::vector<std::uint32_t> moves;  // in global order
    std::vector<OpId> ops;             // that have a move here, or concern this rank without one
  };
  // Between two barriers. Lanes run beside each other; rounds of a lane follow each other.
  struct Segment {
    std::vector<std::vector<Round>> lanes;
  };
  std::vector<Segment> segments;
};

RankProgram rank_program(const Schedule& schedule, const Moves& moves, Rank rank);

}  // namespace refit
