#pragma once

#include <string>
#include <variant>
#include <vector>

#include "validation/published_row.h"
#include "validation/row_case.h"

namespace refit::detail {

// How a scenario may write the row's dtype.
struct RowPrecision {
  std::string model_dtype;           // of all weights, without scales; empty: bf16
  std::string training, generation;  // `precision` of a side; empty: as the model
  std::vector<std::string> assumptions;
};

// In the order to be tried: formats with scales are refused where a layout cuts inside a block;
// then only experts have them, else every weight is taken to have one byte.
std::variant<std::vector<RowPrecision>, RowSkip> row_precisions(const PublishedRow& row);

}  // namespace refit::detail
