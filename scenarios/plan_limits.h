#pragma once

#include <string>
#include <vector>

#include "base/yaml.h"
#include "planner/limits.h"

namespace refit {

// A scenario's `plan: limits:` (docs/scenario_format.md), on top of others.
PlanLimits read_limits(const YamlNode& node, PlanLimits limits = {});

// `limits` with the "key=value" words of a command line on top. Error(bad_input) names the word.
PlanLimits parse_limits(const std::vector<std::string>& words, PlanLimits limits = {});

}  // namespace refit
