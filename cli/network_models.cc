#include "cli/network_models.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "base/yaml.h"

namespace refit {

NetworkModel network_model_named(const std::string& name) {
  const std::vector<std::string> known = catalog_network_models();
  if (std::find(known.begin(), known.end(), name) != known.end()) {
    return catalog_network_model(name);
  }
  const bool is_path = name.find('/') != std::string::npos || name.ends_with(".yaml") ||
                       name.ends_with(".yml") || std::filesystem::exists(name);
  if (is_path) return read_network_model(YamlNode::parse_file(name));
  throw Error(ErrorCode::bad_input,
              fmt::format("--network-model: '{}' is neither a file nor one of {}", name,
                          fmt::join(known, ", ")));
}

}  // namespace refit
