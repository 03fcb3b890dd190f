#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sweep/row.h"
#include "sweep/sweep.h"

namespace refit {

// A sweep's results as CSV (docs/sweep.md). The heading of the first column says of which sweep.

// How every such file begins, and no other that refit reads.
inline constexpr std::string_view kSweepCsvBegin = "point of ";

// Lines without their end: the first, and one of a row, never with a line end inside.
std::string csv_header(const SweepTable& table);
std::string csv_line(const SweepRow& row);

// The whole file: one row a point, in the order of the points. Of several the last counts.
std::string sweep_csv(SweepTable table);

// Error(bad_input) with file and line if it is not such a file.
SweepTable parse_sweep_csv(std::string_view text, const std::string& name);
SweepRow parse_csv_line(std::string_view line, const SweepTable& table);

// An empty table of the sweep.
SweepTable table_of(const Sweep& sweep);

// The rows of both, of one sweep. Error(bad_input) names the file if it is of another one, or says
// something else of a point.
void merge_into(SweepTable& table, const SweepTable& other, const std::string& name);

}  // namespace refit
