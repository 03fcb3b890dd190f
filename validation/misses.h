#pragma once

#include <map>
#include <string>

#include "validation/result.h"

namespace refit {

// Rows and why their predictions may be off: a YAML map of texts.
using Misses = std::map<std::string, std::string>;

Misses read_misses(const std::string& text, const std::string& name);
// Those of the rows and the network model that come with the program.
Misses shipped_misses();

// Error(check_failed) unless exactly the rows that is_miss() names have a text.
void require_explained(const Validation& validation, const Misses& misses);

}  // namespace refit
