#include "topology/detail/group_keys.h"

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

}  // namespace

std::span<const GroupKey> group_keys() { return kGroupKeys; }

FabricSpec read_fabric(const YamlNode& node) {
  node.allow_only({"nodes_per_leaf", "rail_optimized", "oversubscription", "spines", "latency"});
  FabricSpec fabric;
  if (const auto value = node.find("nodes_per_leaf")) {
    fabric.nodes_per_leaf = static_cast<int>(value->integer(0, kMostGpus));
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
