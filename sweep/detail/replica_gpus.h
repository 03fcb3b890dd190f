#pragma once

#include <optional>

#include "sweep/yaml_tree.h"

namespace refit::detail {

// The GPUs of one engine of a scenario's generation side, by its degrees; nothing if its engine has
// no copies of itself, or a degree is no number.
std::optional<int> replica_gpus(const YamlTree& scenario);

}  // namespace refit::detail
