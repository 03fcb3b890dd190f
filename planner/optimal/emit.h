#pragma once

#include <vector>

#include "planner/optimal/inside.h"
#include "planner/optimal/problem.h"
#include "schedule/schedule.h"

namespace refit {

// The schedule of what was chosen: transfers in the order in which they start, on lanes with
// windows, between the software before and after that every strategy has.
Schedule emit(const Refit& refit, std::vector<Parcel> parcels, const Solution& wires,
              const Inside& inside, const Solution& nvlink);

}  // namespace refit
