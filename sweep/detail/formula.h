#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sweep/yaml_tree.h"

namespace refit::detail {

// The value of "cluster.nodes * 8 - training.gpus": whole numbers and paths of whole numbers in
// `tree`, with * and / before + and -, no brackets. Error(bad_input) that begins with `where` if it
// can't be read, a path leads to no whole number, or a quotient is not whole.
std::int64_t formula_value(const std::string& formula, const YamlTree& tree,
                           const std::string& where);

// The paths that it names.
std::vector<std::string> paths_in(const std::string& formula);

}  // namespace refit::detail
