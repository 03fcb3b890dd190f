#pragma once

#include <vector>

#include "base/yaml.h"
#include "sweep/yaml_tree.h"

namespace refit::detail {

// The values of a list, as they are, or of a range: {from: 1, to: 32, times: 2} or
// {from: 100 Gbit/s, to: 800 Gbit/s, step: 100 Gbit/s}, both ends included if they are hit.
std::vector<YamlTree> read_axis_values(const YamlNode& node);

}  // namespace refit::detail
