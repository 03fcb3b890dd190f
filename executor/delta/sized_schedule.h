#pragma once

#include <cstdint>
#include <vector>

#include "executor/delta/geometry.h"
#include "executor/moves.h"

namespace refit {

// The same plan, with the sizes that the payloads have instead of those that were expected: what a
// version really moves. Work of coding is free in it: a run does that before the moves and after
// them, and times it apart.
Schedule sized_schedule(const Schedule& schedule, const DeltaGeometry& geometry,
                        const std::vector<std::uint64_t>& payload_bytes);

// The options under which its moves are written out. `payload_bytes` and `geometry` must outlive
// them.
MoveOptions sized_moves(const MoveOptions& options, const DeltaGeometry& geometry,
                        const std::vector<std::uint64_t>& payload_bytes);

// What the moves of all ops would be if the content travelled as it is: of a collective, whoever
// lacks the content receives it once.
std::uint64_t dense_wire_bytes(const Schedule& schedule, const Refit& refit);

}  // namespace refit
