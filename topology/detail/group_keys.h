#pragma once

#include <span>
#include <string_view>

#include "base/yaml.h"
#include "topology/cluster.h"

namespace refit::detail {

// How one key of a group of nodes is read: the same for a scenario and for a catalog file.
struct GroupKey {
  std::string_view name;
  void (*read)(const YamlNode& value, NodeGroupSpec& group);
};

// The numbers of one node, in the order of docs/cluster_format.md. Not `nodes`, `name`, `site`,
// `domain_sizes`: those belong to one cluster, not to a kind of machine.
std::span<const GroupKey> group_keys();

// `gpu_nics` and `distances`, which belong to one cluster too.
void read_gpu_nics(const YamlNode& node, NodeGroupSpec& group);

FabricSpec read_fabric(const YamlNode& node);

}  // namespace refit::detail
