#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/yaml.h"

namespace refit {

struct HydraChild;

// A node of a configuration, and where it was written.
struct HydraNode {
  enum class Kind { nothing, scalar, list, map };

  Kind kind = Kind::nothing;
  std::string text;                  // of a scalar
  std::string where;                 // "recipe.yaml:14:11", "override a=1"
  std::vector<HydraChild> children;  // of a list without keys

  const HydraNode* child(std::string_view key) const;
  HydraNode* child(std::string_view key);
  void remove(std::string_view key);
};

// No std::pair, which clang can't complete inside of what it holds.
struct HydraChild {
  std::string key;
  HydraNode node;
};

// With "<<" followed. Error(bad_input) where that stands for no map.
HydraNode hydra_node_of(const YamlNode& yaml);

// Maps are merged, everything else replaces what was there, as does a map with `_override_: true`.
void merge_hydra(HydraNode& base, HydraNode child);

}  // namespace refit
