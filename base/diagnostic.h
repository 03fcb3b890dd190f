#pragma once

#include <string>
#include <vector>

namespace refit {

// One finding of a check. An empty list is a clean verdict.
struct Diagnostic {
  std::string where;    // "op 12 (transfer 1 -> 5)", "generation.tensor"
  std::string message;  // what is wrong, and what would be right

  friend bool operator==(const Diagnostic&, const Diagnostic&) = default;
};

using Diagnostics = std::vector<Diagnostic>;

}  // namespace refit
