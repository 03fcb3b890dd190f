#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/embedded.h"
#include "base/error.h"
#include "base/shown.h"
#include "topology/cluster_yaml.h"
#include "topology/detail/group_keys.h"

namespace refit {

std::span<const EmbeddedFile> embedded_clusters();  // topology/catalog/*.yaml, see CMakeLists.txt

namespace {

// In a catalog file each key is a pair, so that no number goes without its origin:
//   nic_bandwidth: {value: 400 Gbit/s, source: NVIDIA DGX H100 data sheet}
YamlNode read_sourced(const YamlNode& node, std::string_view key, CatalogCluster& entry) {
  node.allow_only({"value", "source"});
  entry.sources.emplace_back(key, node.at("source").text());
  return node.at("value");
}

CatalogCluster read_entry(const EmbeddedFile& file) {
  const YamlNode root =
      YamlNode::parse_text(std::string(file.text), fmt::format("catalog/{}.yaml", file.name));
  root.allow_only({"description", "gpus_per_node", "nvlink_domain_gpus", "nvlink_bandwidth",
                   "nvlink_latency", "nics_per_node", "nic_bandwidth", "nic_latency",
                   "pcie_bandwidth", "gpu_memory", "fabric"});
  CatalogCluster entry;
  entry.name = file.name;
  entry.description = root.at("description").text();
  entry.group.name = file.name;
  entry.group.nodes = 1;
  for (const detail::GroupKey& key : detail::group_keys()) {
    const bool optional = key.name == "pcie_bandwidth";  // left out where it never binds
    if (optional && !root.find(key.name)) continue;
    key.read(read_sourced(root.at(key.name), key.name, entry), entry.group);
  }
  if (const auto fabric = root.find("fabric")) {
    entry.fabric = detail::read_fabric(read_sourced(*fabric, "fabric", entry));
  }
  return entry;
}

}  // namespace

std::vector<std::string> catalog_clusters() {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : embedded_clusters()) names.emplace_back(file.name);
  return names;
}

CatalogCluster catalog_cluster(const std::string& name) {
  for (const EmbeddedFile& file : embedded_clusters()) {
    if (file.name == name) return read_entry(file);
  }
  throw Error(ErrorCode::bad_input, fmt::format("no cluster '{}' in the catalog; use one of {}",
                                                shown(name), fmt::join(catalog_clusters(), ", ")));
}

}  // namespace refit
