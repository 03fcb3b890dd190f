#include "topology/detail/cluster_check.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace refit::detail {
namespace {

using Fault = std::optional<ClusterFault>;
using Part = ClusterFault::Part;

// Where a check is, so that each check is one line.
struct Place {
  Part part = Part::cluster;
  std::size_t index = 0;

  ClusterFault fault(std::string key, std::string message) const {
    return {part, index, std::move(key), std::move(message)};
  }
  Fault count(const char* key, std::int64_t value, std::int64_t most) const {
    if (value >= 1 && value <= most) return {};
    return fault(key, fmt::format("must be from 1 to {}, got {}", most, value));
  }
  Fault rate(const char* key, double bytes_per_s) const {
    if (bytes_per_s > 0 && bytes_per_s <= kMostBytesPerSecond) return {};
    return fault(key, fmt::format("must be more than 0 and at most {} bytes/s, got {}",
                                  kMostBytesPerSecond, bytes_per_s));
  }
  Fault latency(const char* key, double seconds) const {
    if (seconds >= 0 && std::isfinite(seconds)) return {};
    return fault(key, fmt::format("must be finite and not negative, got {} s", seconds));
  }
};

bool divides(int a, int b) { return b % a == 0; }

Fault find_domain_fault(const NodeGroupSpec& group, const Place& place) {
  const std::int64_t gpus = std::int64_t{group.nodes} * group.gpus_per_node;
  if (!group.domain_sizes.empty()) {
    std::int64_t sum = 0;
    for (const int size : group.domain_sizes) {
      if (size < 1)
        return place.fault("domain_sizes", fmt::format("{} is not a size; use 1 or more", size));
      sum += size;
    }
    if (sum == gpus) return {};
    return place.fault("domain_sizes",
                       fmt::format("the sizes add up to {}, the group has {} GPUs ({} nodes of {})",
                                   sum, gpus, group.nodes, group.gpus_per_node));
  }
  if (Fault f = place.count("nvlink_domain_gpus", group.nvlink_domain_gpus, kMostGpus)) return f;
  if (divides(group.nvlink_domain_gpus, group.gpus_per_node)) return {};
  if (divides(group.gpus_per_node, group.nvlink_domain_gpus)) return {};
  return place.fault("nvlink_domain_gpus",
                     fmt::format("{} is neither a multiple nor a divisor of the {} GPUs of a node; "
                                 "for uneven domains use domain_sizes",
                                 group.nvlink_domain_gpus, group.gpus_per_node));
}

bool has_nvlink(const NodeGroupSpec& group) {
  if (group.domain_sizes.empty()) return group.nvlink_domain_gpus > 1;
  return std::any_of(group.domain_sizes.begin(), group.domain_sizes.end(),
                     [](int size) { return size > 1; });
}

// GPUs share all their NICs or none, so that what they share is one link.
Fault find_gpu_nics_fault(const NodeGroupSpec& group, const Place& place) {
  if (group.gpu_nics.empty()) return {};
  const auto fault = [&](std::string message) {
    return place.fault("gpu_nics", std::move(message));
  };
  if (group.gpu_nics.size() != static_cast<std::size_t>(group.gpus_per_node)) {
    return fault(fmt::format("there must be one item for each of the {} GPUs of a node, got {}",
                             group.gpus_per_node, group.gpu_nics.size()));
  }
  std::vector<std::size_t> first_user(static_cast<std::size_t>(group.nics_per_node),
                                      group.gpu_nics.size());
  for (std::size_t g = 0; g < group.gpu_nics.size(); ++g) {
    const GpuNics& gpu = group.gpu_nics[g];
    if (gpu.nics.empty()) return fault(fmt::format("GPU {} uses no NIC; name at least one", g));
    if (!std::is_sorted(gpu.nics.begin(), gpu.nics.end(), std::less_equal<>()))
      return fault(fmt::format("the NICs of GPU {} must be in rising order, each once", g));
    for (const int nic : gpu.nics) {
      if (nic < 0 || nic >= group.nics_per_node) {
        return fault(fmt::format("GPU {} uses NIC {}, but a node has NICs 0 to {}", g, nic,
                                 group.nics_per_node - 1));
      }
      std::size_t& user = first_user[static_cast<std::size_t>(nic)];
      if (user == group.gpu_nics.size()) user = g;
      if (group.gpu_nics[user].nics == gpu.nics) continue;
      return fault(
          fmt::format("GPUs {} and {} share NIC {} but not all NICs; GPUs share all of "
                      "theirs or none",
                      user, g, nic));
    }
    if (gpu.path_bytes_per_s != 0) {
      if (Fault f = place.rate("distances", gpu.path_bytes_per_s)) return f;
    }
    const bool has_path = gpu.path_bytes_per_s > 0 || group.pcie_bytes_per_s;
    const bool first_has = group.gpu_nics[0].path_bytes_per_s > 0 || group.pcie_bytes_per_s;
    if (has_path != first_has) {
      return fault(
          fmt::format("GPU {} has a rate to its NICs and GPU {} has none; give every "
                      "distance a rate, or pcie_bandwidth for the rest",
                      has_path ? g : 0, has_path ? 0 : g));
    }
  }
  return {};
}

Fault find_group_fault(const NodeGroupSpec& group, const Place& place, std::size_t sites) {
  if (Fault f = place.count("nodes", group.nodes, kMostGpus)) return f;
  if (Fault f = place.count("gpus_per_node", group.gpus_per_node, kMostGpusPerNode)) return f;
  if (Fault f = find_domain_fault(group, place)) return f;
  if (has_nvlink(group)) {
    if (Fault f = place.rate("nvlink_bandwidth", group.nvlink_bytes_per_s)) return f;
  }
  if (Fault f = place.latency("nvlink_latency", group.nvlink_latency_s)) return f;
  if (Fault f = place.count("nics_per_node", group.nics_per_node, kMostNicsPerNode)) return f;
  if (Fault f = find_gpu_nics_fault(group, place)) return f;
  if (group.gpu_nics.empty() && !divides(group.nics_per_node, group.gpus_per_node) &&
      !divides(group.gpus_per_node, group.nics_per_node)) {
    return place.fault("nics_per_node",
                       fmt::format("{} NICs can't be spread evenly over {} GPUs; "
                                   "use a multiple or a divisor of {}, or write gpu_nics",
                                   group.nics_per_node, group.gpus_per_node, group.gpus_per_node));
  }
  if (Fault f = place.rate("nic_bandwidth", group.nic_bytes_per_s)) return f;
  if (Fault f = place.latency("nic_latency", group.nic_latency_s)) return f;
  if (group.pcie_bytes_per_s) {
    if (Fault f = place.rate("pcie_bandwidth", *group.pcie_bytes_per_s)) return f;
  }
  if (!(group.gpu_memory_bytes >= 0 && std::isfinite(group.gpu_memory_bytes))) {
    return place.fault("gpu_memory", fmt::format("must be finite and not negative, got {} bytes",
                                                 group.gpu_memory_bytes));
  }
  if (group.site < 0 || static_cast<std::size_t>(group.site) >= sites) {
    return place.fault("site", fmt::format("there is no site {}; there are {}", group.site, sites));
  }
  return {};
}

Fault find_site_fault(const ClusterSpec& spec) {
  const Place whole;
  if (spec.sites.empty() || spec.sites.size() > kMostSites) {
    return whole.fault("sites", fmt::format("there must be from 1 to {} sites, got {}", kMostSites,
                                            spec.sites.size()));
  }
  std::set<std::string> seen;
  for (std::size_t s = 0; s < spec.sites.size(); ++s) {
    const Place place{Part::site, s};
    if (spec.sites[s].empty()) return place.fault("name", "a site needs a name");
    if (!seen.insert(spec.sites[s]).second) {
      return place.fault("name", fmt::format("two sites are called '{}'", spec.sites[s]));
    }
  }
  if (spec.fabrics.size() == spec.sites.size()) return {};
  return whole.fault("fabric", fmt::format("there must be one fabric per site, got {} for {} sites",
                                           spec.fabrics.size(), spec.sites.size()));
}

Fault find_fabric_fault(const FabricSpec& fabric, const Place& place) {
  if (fabric.nodes_per_leaf < 0 || fabric.nodes_per_leaf > kMostGpus) {
    return place.fault("nodes_per_leaf", fmt::format("must be from 0 (flat) to {}, got {}",
                                                     kMostGpus, fabric.nodes_per_leaf));
  }
  if (!fabric.leaf_nodes.empty() && fabric.nodes_per_leaf > 0)
    return place.fault("leaf_nodes", "stands beside nodes_per_leaf; use one of the two");
  if (fabric.rail_optimized && !fabric.has_leaves()) {
    return place.fault("rail_optimized", "a flat fabric has no rails; give nodes_per_leaf too");
  }
  if (!(fabric.oversubscription >= 1 && fabric.oversubscription <= kMostOversubscription)) {
    return place.fault("oversubscription",
                       fmt::format("must be from 1 to {}, got {}", kMostOversubscription,
                                   fabric.oversubscription));
  }
  if (fabric.spines < 0 || fabric.spines > kMostSpines) {
    return place.fault("spines", fmt::format("must be from 0 (the trunk is one link) to {}, got {}",
                                             kMostSpines, fabric.spines));
  }
  if (fabric.spines > 0 && !fabric.has_leaves()) {
    return place.fault("spines", "a flat fabric has no leaves; give nodes_per_leaf too");
  }
  return place.latency("latency", fabric.latency_s);
}

int rails_of(const NodeGroupSpec& group) {
  if (group.gpu_nics.empty()) return std::min(group.nics_per_node, group.gpus_per_node);
  std::set<std::vector<int>> bundles;
  for (const GpuNics& gpu : group.gpu_nics) bundles.insert(gpu.nics);
  return static_cast<int>(bundles.size());
}

// The lists of a fabric are as long as it has leaves.
Fault find_leaf_fault(const ClusterSpec& spec, std::size_t s) {
  const FabricSpec& fabric = spec.fabrics[s];
  const Place place{Part::fabric, s};
  std::vector<int> rails;  // of each node of the site
  for (const NodeGroupSpec& group : spec.groups) {
    if (static_cast<std::size_t>(group.site) != s) continue;
    rails.insert(rails.end(), static_cast<std::size_t>(group.nodes),
                 fabric.rail_optimized ? rails_of(group) : 1);
  }
  std::int64_t sum = 0;
  for (const int size : fabric.leaf_nodes) {
    if (size < 1)
      return place.fault("leaf_nodes", fmt::format("{} is no count of nodes; use 1 or more", size));
    sum += size;
  }
  if (!fabric.leaf_nodes.empty() && sum != static_cast<std::int64_t>(rails.size())) {
    return place.fault("leaf_nodes",
                       fmt::format("the leaves have {} nodes, the site has {}", sum, rails.size()));
  }
  if (fabric.trunk_bytes_per_s.empty()) return {};
  if (!fabric.has_leaves()) {
    return place.fault("trunk_bandwidths",
                       "a flat fabric has no leaves; give nodes_per_leaf or leaf_nodes too");
  }
  if (fabric.oversubscription > 1) {
    return place.fault("trunk_bandwidths", "stands beside oversubscription; use one of the two");
  }
  std::size_t leaves = 0, block = 0;
  for (std::size_t node = 0; node < rails.size(); ++block) {
    const auto size = static_cast<std::size_t>(
        fabric.leaf_nodes.empty() ? fabric.nodes_per_leaf : fabric.leaf_nodes[block]);
    const std::size_t end = std::min(node + size, rails.size());
    int most = 0;
    for (; node < end; ++node) most = std::max(most, rails[node]);
    leaves += static_cast<std::size_t>(most);
  }
  if (fabric.trunk_bytes_per_s.size() != leaves) {
    return place.fault("trunk_bandwidths", fmt::format("there are {} leaves, got {} rates", leaves,
                                                       fabric.trunk_bytes_per_s.size()));
  }
  for (const double rate : fabric.trunk_bytes_per_s) {
    if (Fault f = place.rate("trunk_bandwidths", rate)) return f;
  }
  return {};
}

// The numbers of a small file may ask for very many links.
Fault find_cable_fault(const ClusterSpec& spec) {
  std::vector<std::int64_t> nodes(spec.sites.size()), rails(spec.sites.size(), 1);
  for (const NodeGroupSpec& group : spec.groups) {
    const auto site = static_cast<std::size_t>(group.site);
    nodes[site] += group.nodes;
    if (spec.fabrics[site].rail_optimized)
      rails[site] = std::max<std::int64_t>(rails[site], group.gpus_per_node);
  }
  for (std::size_t s = 0; s < spec.fabrics.size(); ++s) {
    const FabricSpec& fabric = spec.fabrics[s];
    if (fabric.spines == 0) continue;
    const std::int64_t blocks = fabric.leaf_nodes.empty()
                                    ? (nodes[s] + fabric.nodes_per_leaf - 1) / fabric.nodes_per_leaf
                                    : static_cast<std::int64_t>(fabric.leaf_nodes.size());
    const std::int64_t leaves = blocks * rails[s];
    if (leaves * fabric.spines <= kMostCables) continue;
    return Place{Part::fabric, s}.fault(
        "spines", fmt::format("{} leaves with {} cables each are more than {} cables; use fewer "
                              "spines or more nodes_per_leaf",
                              leaves, fabric.spines, kMostCables));
  }
  return {};
}

Fault find_wan_fault(const ClusterSpec& spec) {
  const int sites = static_cast<int>(spec.sites.size());
  std::set<std::pair<int, int>> joined;
  for (std::size_t w = 0; w < spec.wans.size(); ++w) {
    const WanSpec& wan = spec.wans[w];
    const Place place{Part::wan, w};
    for (const int site : {wan.site_a, wan.site_b}) {
      if (site < 0 || site >= sites) {
        return place.fault("between",
                           fmt::format("there is no site {}; there are {}", site, sites));
      }
    }
    const std::string& a = spec.sites[static_cast<std::size_t>(wan.site_a)];
    const std::string& b = spec.sites[static_cast<std::size_t>(wan.site_b)];
    if (wan.site_a == wan.site_b) {
      return place.fault("between",
                         fmt::format("joins '{}' to itself; name two different sites", a));
    }
    if (!joined.insert(std::minmax({wan.site_a, wan.site_b})).second) {
      return place.fault("between",
                         fmt::format("'{}' and '{}' are already joined; write one link with the "
                                     "bandwidth of both",
                                     a, b));
    }
    if (Fault f = place.rate("bandwidth", wan.bytes_per_s)) return f;
    if (Fault f = place.latency("latency", wan.latency_s)) return f;
    if (wan.flow_bytes_per_s != 0) {
      if (Fault f = place.rate("per_flow", wan.flow_bytes_per_s)) return f;
    }
  }
  return {};
}

Fault find_store_fault(const ClusterSpec& spec) {
  if (spec.stores.size() > kMostStores) {
    return Place{}.fault(
        "stores", fmt::format("there may be up to {}, got {}", kMostStores, spec.stores.size()));
  }
  std::set<std::string> seen;
  for (std::size_t s = 0; s < spec.stores.size(); ++s) {
    const StoreSpec& store = spec.stores[s];
    const Place place{Part::store, s};
    if (store.name.empty()) return place.fault("name", "a store needs a name");
    if (!seen.insert(store.name).second)
      return place.fault("name", fmt::format("two stores are called '{}'", store.name));
    if (store.site < 0 || static_cast<std::size_t>(store.site) >= spec.sites.size()) {
      return place.fault(
          "site", fmt::format("there is no site {}; there are {}", store.site, spec.sites.size()));
    }
    if (Fault f = place.rate("bandwidth", store.bytes_per_s)) return f;
    if (Fault f = place.rate("per_connection", store.connection_bytes_per_s)) return f;
    if (Fault f = place.count("connections", store.connections, kMostConnections)) return f;
    if (Fault f = place.latency("request_latency", store.request_latency_s)) return f;
    if (store.part_bytes < 1)
      return place.fault("part", fmt::format("must be 1 B or more, got {} B", store.part_bytes));
  }
  return {};
}

}  // namespace

std::optional<ClusterFault> find_fault(const ClusterSpec& spec) {
  if (Fault f = find_site_fault(spec)) return f;
  if (spec.groups.empty())
    return ClusterFault{Part::cluster, 0, "groups", "a cluster needs at least one group of nodes"};

  std::int64_t gpus = 0;
  std::vector<bool> used(spec.sites.size());
  for (std::size_t g = 0; g < spec.groups.size(); ++g) {
    const NodeGroupSpec& group = spec.groups[g];
    if (Fault f = find_group_fault(group, {Part::group, g}, spec.sites.size())) return f;
    gpus += std::int64_t{group.nodes} * group.gpus_per_node;
    if (gpus > kMostGpus) {
      return ClusterFault{Part::group, g, "nodes",
                          fmt::format("the cluster has {} GPUs up to here; at most {} are allowed",
                                      gpus, kMostGpus)};
    }
    used[static_cast<std::size_t>(group.site)] = true;
  }
  for (std::size_t s = 0; s < spec.sites.size(); ++s) {
    if (!used[s])
      return ClusterFault{Part::site, s, "name",
                          fmt::format("site '{}' has no nodes", spec.sites[s])};
  }
  for (std::size_t s = 0; s < spec.fabrics.size(); ++s) {
    if (Fault f = find_fabric_fault(spec.fabrics[s], {Part::fabric, s})) return f;
    if (Fault f = find_leaf_fault(spec, s)) return f;
  }
  if (Fault f = find_cable_fault(spec)) return f;
  if (Fault f = find_wan_fault(spec)) return f;
  return find_store_fault(spec);
}

std::string describe(const ClusterFault& fault, const ClusterSpec& spec) {
  const std::size_t i = fault.index;
  std::string where = "cluster: ";
  switch (fault.part) {
    case Part::cluster:
      break;
    case Part::group:
      where += fmt::format("group {} ({}): ", i, spec.groups[i].name);
      break;
    case Part::site:
      where += fmt::format("site {}: ", i);
      break;
    case Part::fabric:
      where += fmt::format("fabric of site '{}': ", spec.sites[i]);
      break;
    case Part::wan:
      where += fmt::format("wan {}: ", i);
      break;
    case Part::store:
      where += fmt::format("store {}: ", i);
      break;
  }
  if (!fault.key.empty()) where += fault.key + ": ";
  return where + fault.message;
}

}  // namespace refit::detail
