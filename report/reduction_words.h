#pragma once

#include <string>

#include "report/simulation.h"

namespace refit {

// For each row what was left out before it was simulated, and by which solver it was; the answer
// of `simulate --explain`.
std::string reduction_lines(const SimulationReport& report);

// "incremental", or "incremental (native for direct)" where rows differ.
std::string solver_words(const SimulationReport& report);

}  // namespace refit
