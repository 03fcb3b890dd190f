#pragma once

#include <string>

#include "report/simulation.h"

namespace refit {

// A simulation for the terminal: what was asked, a row per strategy, what the numbers rest on.
std::string simulation_summary(const SimulationReport& report);

}  // namespace refit
