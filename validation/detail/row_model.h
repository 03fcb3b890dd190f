#pragma once

#include <string>
#include <variant>
#include <vector>

#include "validation/published_row.h"
#include "validation/row_case.h"

namespace refit::detail {

struct RowModel {
  std::string name;  // in the catalog
  std::vector<std::string> assumptions;
};

// The catalog's model that a row speaks of, by its name, else by its kind and number of parameters.
std::variant<RowModel, RowSkip> row_model(const PublishedRow& row);

}  // namespace refit::detail
