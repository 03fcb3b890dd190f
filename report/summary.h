#pragma once

#include <string>

#include "report/paint.h"
#include "report/simulation.h"
#include "report/table.h"

namespace refit {

// A row per strategy.
Table strategy_table(const SimulationReport& report);

// A simulation for the terminal: what was asked, that table, what the numbers rest on.
std::string simulation_summary(const SimulationReport& report, Paint paint = Paint::off);

}  // namespace refit
