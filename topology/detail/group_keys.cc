#include "topology/detail/group_keys.h"

#include <map>
#include <string>

#include <fmt/format.h>

#include "topology/detail/cluster_check.h"

namespace refit::detail {
namespace {

using Group = NodeGroupSpec;
using Value = YamlNode;

int count(const Value& value, std::int64_t most) {
  return static_cast<int>(value.integer(1, most));
}

// clang-format off
constexpr GroupKey kGroupKeys[] = {
    {"gpus_per_node", [](const Value& v, Group& g) { g.gpus_per_node = count(v, kMostGpusPerNode); }},
    {"nvlink_domain_gpus", [](const Value& v, Group& g) { g.nvlink_domain_gpus = count(v, kMostGpus); }},
    {"nvlink_bandwidth", [](const Value& v, Group& g) { g.nvlink_bytes_per_s = v.bandwidth(); }},
    {"nvlink_latency", [](const Value& v, Group& g) { g.nvlink_latency_s = v.seconds(); }},
    {"nics_per_node", [](const Value& v, Group& g) { g.nics_per_node = count(v, kMostNicsPerNode); }},
    {"nic_bandwidth", [](const Value& v, Group& g) { g.nic_bytes_per_s = v.bandwidth(); }},
    {"nic_latency", [](const Value& v, Group& g) { g.nic_latency_s = v.seconds(); }},
    {"pcie_bandwidth", [](const Value& v, Group& g) { g.pcie_bytes_per_s = v.bandwidth(); }},
    {"gpu_memory", [](const Value& v, Group& g) { g.gpu_memory_bytes = static_cast<double>(v.bytes()); }},
};
// clang-format on

GpuNics read_item(const Value& item) {
  item.allow_only({"nics", "distance"});
  GpuNics gpu;
  for (const Value& nic : item.at("nics").items())
    gpu.nics.push_back(static_cast<int>(nic.integer(0, kMostNicsPerNode - 1)));
  if (const auto distance = item.find("distance")) gpu.distance = distance->text();
  return gpu;
}

}  // namespace

void read_gpu_nics(const YamlNode& node, NodeGroupSpec& group) {
  const auto list = node.find("gpu_nics");
  const auto distances = node.find("distances");
  if (!list) {
    if (distances)
      distances->fail("rates of distances are for gpu_nics; write which GPU is how far");
    return;
  }
  std::map<std::string, double> rates;
  if (distances) {
    for (const auto& [name, value] : distances->entries()) rates[name] = value.bandwidth();
  }
  for (const Value& item : list->items()) {
    GpuNics& gpu = group.gpu_nics.emplace_back(read_item(item));
    if (!distances || gpu.distance.empty()) continue;
    const auto found = rates.find(gpu.distance);
    if (found == rates.end())
      item.fail(fmt::format("no rate for '{0}'; write it into distances: {{{0}: 20 GB/s}}",
                            gpu.distance));
    gpu.path_bytes_per_s = found->second;
  }
}

std::span<const GroupKey> group_keys() { return kGroupKeys; }

FabricSpec read_fabric(const YamlNode& node) {
  node.allow_only({"nodes_per_leaf", "leaf_nodes", "rail_optimized", "oversubscription",
                   "trunk_bandwidths", "spines", "latency"});
  FabricSpec fabric;
  if (const auto value = node.find("nodes_per_leaf")) {
    fabric.nodes_per_leaf = static_cast<int>(value->integer(0, kMostGpus));
  }
  if (const auto value = node.find("leaf_nodes")) {
    for (const Value& size : value->items())
      fabric.leaf_nodes.push_back(static_cast<int>(size.integer(1, kMostGpus)));
  }
  if (const auto value = node.find("trunk_bandwidths")) {
    for (const Value& rate : value->items()) fabric.trunk_bytes_per_s.push_back(rate.bandwidth());
  }
  if (const auto value = node.find("rail_optimized")) fabric.rail_optimized = value->boolean();
  if (const auto value = node.find("oversubscription")) fabric.oversubscription = value->number();
  if (const auto value = node.find("spines")) {
    fabric.spines = static_cast<int>(value->integer(0, kMostSpines));
  }
  if (const auto value = node.find("latency")) fabric.latency_s = value->seconds();
  return fabric;
}

}  // namespace refit::detail
