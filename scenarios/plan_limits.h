#pragma once

#include <string>
#include <vector>

#include "base/yaml.h"
#include "planner/limits.h"

namespace refit {

// A scenario's `plan: limits:` (docs/scenario_format.md).
PlanLimits read_limits(const YamlNode& node);

// The same from "key=value" words of a command line. Error(bad_input) names the word.
PlanLimits parse_limits(const std::vector<std::string>& words);

}  // namespace refit
