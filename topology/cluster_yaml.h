#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/yaml.h"
#include "topology/cluster.h"

namespace refit {

// The YAML form of a cluster (docs/cluster_format.md): a catalog entry with any number
// overridden, or written in full; several groups of nodes, sites and WAN links.
ClusterSpec read_cluster(const YamlNode& node);

// The catalog compiled into the program: topology/catalog/*.yaml.
struct CatalogCluster {
  std::string name;
  std::string description;
  NodeGroupSpec group;  // nodes = 1
  FabricSpec fabric;
  std::vector<std::pair<std::string, std::string>> sources;  // key -> where the number is from
};
std::vector<std::string> catalog_clusters();
CatalogCluster catalog_cluster(const std::string& name);

}  // namespace refit
