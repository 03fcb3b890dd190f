#pragma once

#include <string>

#include "sweep/row.h"

namespace refit {

// The page of a sweep's results (docs/report_page.md), of what is in the table so far: plots over
// any of its fields, and the points. `rows` are at most one of a point.
std::string sweep_page(const std::string& name, const SweepTable& table,
                       const std::string& version);

// The fastest point that fits, in one line.
std::string sweep_answer(const SweepTable& table);

}  // namespace refit
