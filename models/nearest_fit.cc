#include "models/nearest_fit.h"

#include <algorithm>

#include <fmt/format.h>

namespace refit {

std::string nearest_fit(int wrong, int most, const std::function<bool(int)>& fits) {
  std::string below, above;
  for (int n = std::min(wrong - 1, most); n >= 1 && below.empty(); --n) {
    if (fits(n)) below = fmt::format("{}", n);
  }
  for (int n = std::max(wrong, 0) + 1; n <= most && above.empty(); ++n) {
    if (fits(n)) above = fmt::format("{}", n);
  }
  if (below.empty() && above.empty()) return "none";
  if (below.empty() || above.empty()) return below + above;
  return fmt::format("{} or {}", below, above);
}

}  // namespace refit
