#pragma once

#include <string>
#include <vector>

#include "report/paint.h"
#include "sweep/what_if.h"

namespace refit {

// What each change would be worth, and what would be waited for then: a table per strategy.
std::string sensitivity_table(const std::vector<Sensitivity>& all, Paint paint = Paint::off);

// A document of simulation_json with the same under "sensitivity".
std::string with_sensitivity(const std::string& simulation, const std::vector<Sensitivity>& all);

}  // namespace refit
