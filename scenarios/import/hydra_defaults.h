#pragma once

#include <string>

#include "scenarios/import/hydra_node.h"

namespace refit {

// A file, and below it those that its `defaults:` names: a path or a list of paths beside the file.
// Error(bad_input) names a cycle.
HydraNode load_with_defaults(const std::string& path);
HydraNode read_with_defaults(const std::string& text, const std::string& path);

}  // namespace refit
