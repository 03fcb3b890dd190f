#pragma once

#include <span>
#include <string_view>

#include "planner/plan.h"

namespace refit {

// A framework's way to refit, as a preset over the strategies.
struct System {
  std::string_view name;
  std::string_view does;      // one line
  std::string_view includes;  // what its published timer covers
  bool calibrated = false;    // whether published times of it are in the fit of the default model
  Policy policy;
};

std::span<const System> systems();

// nullptr if there is none of that name.
const System* find_system(std::string_view name);

}  // namespace refit
