#pragma once

#include <iosfwd>
#include <string>

#include "report/run_report.h"

namespace refit {

// Format "refit.measurement/1" (docs/run.md): one member per line, the times of all ops as two
// arrays.
void write_measurement(std::ostream& out, const RunReport& report);

// Reads what write_measurement wrote, or a program of yours. Every member is checked;
// Error(bad_input) names file, place and what would be right:
//
//   run.json: iterations[2].seconds: expected a number of at least 0, got "fast"
RunReport read_measurement(const std::string& text, const std::string& name);

}  // namespace refit
