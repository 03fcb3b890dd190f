#pragma once

#include <cstddef>
#include <vector>

#include "planner/limits.h"
#include "planner/optimal/problem.h"

namespace refit {

// Ways to plan a refit of so many transfers, the quickest first. Only one for very many; under
// limits also such as take less.
std::vector<Setting> usual_settings(std::size_t transfers, bool trunks, const PlanLimits& limits);

// For refits that those leave far above the bound: more transfers at a time, and smaller chunks.
// The ones that help most often come first.
std::vector<Setting> more_settings(bool trunks);

}  // namespace refit
