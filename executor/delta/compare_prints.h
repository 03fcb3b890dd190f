#pragma once

#include <vector>

#include "executor/delta/delta_measurement.h"
#include "executor/delta/delta_rank.h"
#include "models/refit.h"

namespace refit {

// Whole tensors: what the distinct shards of each side add up to, as counts in `version`. A side
// whose shards overlap in part adds up to no tensor; it is left to the comparison of elements.
void compare_prints(const Refit& refit, const std::vector<ShardPrint>& prints,
                    DeltaVersion& version);

}  // namespace refit
