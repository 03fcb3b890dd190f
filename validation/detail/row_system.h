#pragma once

#include <string>
#include <variant>

#include "validation/published_row.h"
#include "validation/row_case.h"

namespace refit::detail {

// The preset that does what the row's system and method say, or why none does.
std::variant<std::string, RowSkip> row_system(const PublishedRow& row);

// What the preset leaves unsaid about the row: an assumption, or nothing.
std::string system_assumption(const PublishedRow& row, const std::string& system);

}  // namespace refit::detail
