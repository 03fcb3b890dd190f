#pragma once

#include <string>

#include "report/table.h"
#include "sweep/size_answer.h"

namespace refit {

// What `refit size` prints: the answer with its band, every candidate, and the front of cost
// against time.
std::string size_summary(const SizeAnswer& answer, Paint paint = Paint::off);

// A row per candidate.
Table size_table(const SizeAnswer& answer);

// Format "refit.size/1" (docs/sweep.md).
std::string size_json(const SizeAnswer& answer);

}  // namespace refit
