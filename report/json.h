#pragma once

#include <string>

#include "report/simulation.h"

namespace refit {

// Format "refit.prediction/1" (docs/report_format.md): no clock, host name or path inside, so equal
// questions give equal bytes.
std::string simulation_json(const SimulationReport& report);

// One row alone, exact to the last bit, for passing it between processes.
std::string to_json_text(const StrategyResult& row);
StrategyResult parse_strategy_result(const std::string& text);

}  // namespace refit
