#pragma once

#include <string>

#include "base/yaml.h"
#include "sweep/yaml_tree.h"

namespace refit::detail {

struct BaseScenario {
  YamlTree tree;
  std::string path;  // of its file, or of the file that it stands in
};

// The `base` of a file: a scenario's path, relative to the file's folder, or the scenario itself.
BaseScenario read_base_scenario(const YamlNode& node, const std::string& file);

}  // namespace refit::detail
