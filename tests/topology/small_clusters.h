#pragma once

#include <string>
#include <utility>
#include <vector>

#include "topology/cluster.h"

namespace refit::test {

// 8 GPUs and 8 NICs a node, one NVLink domain per node, numbers that are easy to tell apart:
// NVLink 450 GB/s + 2 us, NIC 50 GB/s + 5 us.
inline NodeGroupSpec eight_gpu_nodes(int nodes) {
  NodeGroupSpec group;
  group.name = "eight";
  group.nodes = nodes;
  group.gpus_per_node = 8;
  group.nvlink_domain_gpus = 8;
  group.nvlink_bytes_per_s = 450e9;
  group.nvlink_latency_s = 2e-6;
  group.nics_per_node = 8;
  group.nic_bytes_per_s = 50e9;
  group.nic_latency_s = 5e-6;
  group.gpu_memory_bytes = 80e9;
  return group;
}

inline ClusterSpec one_site(std::vector<NodeGroupSpec> groups, FabricSpec fabric = {}) {
  return {.groups = std::move(groups), .fabrics = {fabric}, .sites = {"main"}, .wans = {}};
}

// `nodes` at each of two sites, joined by 12.5 GB/s + 30 ms unless `joined` is false.
inline ClusterSpec two_sites(int nodes, FabricSpec fabric = {}, bool joined = true) {
  NodeGroupSpec west = eight_gpu_nodes(nodes);
  west.site = 1;
  ClusterSpec spec{.groups = {eight_gpu_nodes(nodes), west},
                   .fabrics = {fabric, fabric},
                   .sites = {"east", "west"},
                   .wans = {}};
  if (joined)
    spec.wans.push_back({.site_a = 0, .site_b = 1, .bytes_per_s = 12.5e9, .latency_s = 0.03});
  return spec;
}

inline std::vector<std::string> names(const Cluster& cluster, const std::vector<LinkId>& links) {
  std::vector<std::string> result;
  for (const LinkId link : links) result.push_back(cluster.link(link).name);
  return result;
}

inline std::vector<std::size_t> domain_sizes(const Cluster& cluster) {
  std::vector<std::size_t> sizes;
  for (int d = 0; d < cluster.domains(); ++d)
    sizes.push_back(cluster.domain_ranks(DomainId{d}).size());
  return sizes;
}

}  // namespace refit::test
