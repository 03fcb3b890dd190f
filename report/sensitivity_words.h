#pragma once

#include <string>
#include <vector>

#include "report/paint.h"
#include "sweep/what_if.h"

namespace refit {

// What each change would be worth, and what would be waited for then: a table per strategy.
std::string sensitivity_table(const std::vector<Sensitivity>& all, Paint paint = Paint::off);

// The same as a JSON list, an entry per strategy.
std::string sensitivity_json(const std::vector<Sensitivity>& all);

// A document of simulation_json with that list under "sensitivity".
std::string with_sensitivity(const std::string& simulation, const std::vector<Sensitivity>& all);

}  // namespace refit
