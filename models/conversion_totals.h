#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/refit.h"

namespace refit {

// All conversions of a refit that have the same name and happen on the same side.
struct ConversionTotal {
  ValueOp op = ValueOp::cast;
  EdgeSide side = EdgeSide::source;
  std::string words;
  std::int64_t tensors = 0;
  std::int64_t read_bytes = 0;  // by all ranks of the side together; copies count
  std::int64_t written_bytes = 0;

  friend bool operator==(const ConversionTotal&, const ConversionTotal&) = default;
};

// Sources first; on a side in the order in which they are first met.
std::vector<ConversionTotal> conversion_totals(const Refit& refit);

}  // namespace refit
