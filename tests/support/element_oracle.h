#pragma once

#include <string>

#include "models/refit.h"
#include "schedule/schedule.h"

namespace refit::test {

// Runs a schedule element by element: who has it, who sends it, who got it how often. Slow, obvious
// and for small tensors only. Shares no code with verify. Returns the first fault, or an empty
// string if every destination rank ends with every element of its shard and no transfer wrote one
// twice.
std::string run_elements(const Schedule& schedule, const Refit& refit);

}  // namespace refit::test
