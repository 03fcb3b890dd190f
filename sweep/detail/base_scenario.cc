#include "sweep/detail/base_scenario.h"

#include <filesystem>

#include <fmt/format.h>

#include "base/error.h"

namespace refit::detail {

BaseScenario read_base_scenario(const YamlNode& node, const std::string& file) {
  if (node.is_map()) return {tree_of(node), file};
  const auto path = std::filesystem::path(file).parent_path() / node.text();
  std::error_code ignored;  // what can't be looked at is not there for us
  if (!std::filesystem::exists(path, ignored)) {
    throw Error(ErrorCode::environment,
                fmt::format("{}: base: there is no file {}; paths are relative to this file's "
                            "folder",
                            node.where(), path.string()));
  }
  const YamlNode base = YamlNode::parse_file(path.string());
  if (!base.is_map()) base.fail("expected a scenario: a map with the key 'scenario'");
  return {tree_of(base), path.string()};
}

}  // namespace refit::detail
