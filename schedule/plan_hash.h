#pragma once

#include <string>

#include "schedule/schedule.h"

namespace refit {

// 16 hex digits that name a plan: XXH3, 64 bits, over all that ranks do and all that is proved of
// it, field by field. Equal on every machine, and equal for a plan that was saved and read back.
// Left out is what a plan is called and how its bytes are reported: the strategy, and the phases'
// names and logical bytes. Two strategies that come to the same ops have the same hash.
std::string plan_hash(const Schedule& schedule);

}  // namespace refit
