#pragma once

#include <string>

#include "report/simulation.h"

namespace refit {

// Per strategy: between which times the true one lies, what most of it is spent on, and what the
// first refit takes besides. Empty where nothing but wires was counted.
std::string time_lines(const SimulationReport& report);

}  // namespace refit
