#pragma once

#include "base/diagnostic.h"
#include "models/refit.h"
#include "schedule/schedule.h"

namespace refit {

// Proves that a schedule is a correct answer to a refit: its parcels are exactly the joint cuts of
// the layouts, the rules of schedule.h hold, nobody sends what it lacks, and every destination rank
// ends with every element of its shard, written once. Empty: proved. At most 20 findings.
Diagnostics verify(const Schedule& schedule, const Refit& refit);

}  // namespace refit
