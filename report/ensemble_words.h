#pragma once

#include <string>
#include <vector>

#include "report/simulation.h"

namespace refit {

// Groups of rows whose means differ by no more than the larger of their spreads, the fastest first;
// each row is compared with the fastest of its group. Rows without an ensemble are in none, nor is
// a row that is alone.
std::vector<std::vector<std::size_t>> ties(const std::vector<StrategyResult>& rows);

// Mean and spread of each row's ensemble, and what is a tie; empty if there is no ensemble.
std::string ensemble_lines(const SimulationReport& report);

}  // namespace refit
