#pragma once

#include <cmath>
#include <cstdint>

#include <nlohmann/json.hpp>

#include "base/check.h"

namespace refit {

// Bytes are whole in most plans: print those without a fraction.
inline nlohmann::ordered_json json_number(double value) {
  REFIT_CHECK(std::isfinite(value));
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (std::abs(value) <= kExact && std::trunc(value) == value) {
    return static_cast<std::int64_t>(value);
  }
  return value;
}

}  // namespace refit
