#pragma once

#include "executor/moves.h"

namespace refit::detail {

// Fills in the lists per rank of moves that are written out, so that a rank need not look through
// what others do.
void list_by_rank(const Schedule& schedule, Moves& moves);

}  // namespace refit::detail
