#pragma once

#include "base/diagnostic.h"
#include "schedule/detail/op_ranks.h"
#include "schedule/schedule.h"

namespace refit::detail {

// Rules 1 to 3 of schedule.h: nobody waits for what comes later, for what it can't see or for
// itself, and lanes are first in, first out. Adds to `findings` up to `most`.
void verify_order(const Schedule& schedule, const OpRanks& ranks, std::size_t most,
                  Diagnostics& findings);

}  // namespace refit::detail
