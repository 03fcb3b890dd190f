#pragma once

#include <string>

#include "report/paint.h"
#include "sweep/row.h"

namespace refit {

// What `refit sweep` prints: how many points there are of each kind, the fastest, and why others
// were left out.
std::string sweep_summary(const std::string& name, const SweepTable& table,
                          Paint paint = Paint::off);

// "24: 16 predicted, 8 infeasible", with a word behind the first number.
std::string sweep_counts(const SweepTable& table, const char* unit = "");

// Format "refit.sweep/1" (docs/sweep.md): all rows, in the order of the points.
std::string sweep_json(const std::string& name, const SweepTable& table);

// "1.11 s to 1.84 s"; empty if the network model does not say.
std::string band_words(const SweepRow& row);

}  // namespace refit
