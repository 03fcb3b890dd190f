#pragma once

#include <string>

#include "report/simulation.h"

namespace refit {

// Per strategy a row for every class of equal ranks: its peak, when that is, and what it is made
// of. Empty if no strategy's memory was asked for.
std::string memory_table(const SimulationReport& report);

}  // namespace refit
