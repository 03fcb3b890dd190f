#include "topology/cluster_yaml.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/shown.h"
#include "topology/detail/cluster_check.h"
#include "topology/detail/group_keys.h"

namespace refit {
namespace {

// Where a group is written out without them. Assumptions, as in the catalog.
constexpr double kNvlinkLatencySeconds = 2e-6;
constexpr double kNicLatencySeconds = 5e-6;

constexpr const char* kOneSiteName = "main";
constexpr std::size_t kMostNameBytes = 64;

// What a cluster map holds, in either form: one group written into it, or lists of groups and
// sites.
struct Parts {
  std::vector<YamlNode> groups;
  std::vector<YamlNode> sites;  // empty: one site, not written
  std::vector<YamlNode> wans;
  std::vector<YamlNode> stores;

  explicit Parts(const YamlNode& cluster);
};

constexpr std::string_view kGroupOnlyKeys[] = {"catalog",      "name",     "nodes",
                                               "domain_sizes", "gpu_nics", "distances"};

Parts::Parts(const YamlNode& cluster) {
  cluster.allow_only({"catalog",
                      "name",
                      "nodes",
                      "gpus_per_node",
                      "nvlink_domain_gpus",
                      "domain_sizes",
                      "nvlink_bandwidth",
                      "nvlink_latency",
                      "nics_per_node",
                      "gpu_nics",
                      "distances",
                      "nic_bandwidth",
                      "nic_latency",
                      "pcie_bandwidth",
                      "gpu_memory",
                      "fabric",
                      "groups",
                      "sites",
                      "wan",
                      "stores"});
  if (const auto node = cluster.find("stores")) stores = node->items();
  const auto list = cluster.find("groups");
  if (!list) {
    for (const std::string_view key : {"sites", "wan"}) {
      if (const auto node = cluster.find(key))
        node->fail("sites are for a cluster with 'groups'; list its groups");
    }
    groups.push_back(cluster);
    return;
  }
  const auto refuse = [&cluster](std::string_view key) {
    if (const auto node = cluster.find(key)) {
      node->fail("stands beside 'groups'; write it into the group it belongs to");
    }
  };
  for (const std::string_view key : kGroupOnlyKeys) refuse(key);
  for (const detail::GroupKey& key : detail::group_keys()) refuse(key.name);
  groups = list->items();
  if (groups.empty()) list->fail("a cluster needs at least one group of nodes");
  for (const YamlNode& group : groups) {
    group.allow_only({"catalog", "name", "nodes", "gpus_per_node", "nvlink_domain_gpus",
                      "domain_sizes", "nvlink_bandwidth", "nvlink_latency", "nics_per_node",
                      "gpu_nics", "distances", "nic_bandwidth", "nic_latency", "pcie_bandwidth",
                      "gpu_memory", "site"});
  }
  if (const auto node = cluster.find("sites")) {
    sites = node->items();
    if (sites.empty()) node->fail("name at least one site, or leave 'sites' out");
    if (const auto fabric = cluster.find("fabric")) {
      fabric->fail("stands beside 'sites'; write it into the site it belongs to");
    }
  }
  if (const auto node = cluster.find("wan")) wans = node->items();
}

// A name is echoed in messages, tables and drawings, so it is short and has no control characters.
std::string read_name(const YamlNode& node) {
  const std::string name = node.text();
  const bool is_plain =
      std::none_of(name.begin(), name.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; });
  if (name.empty() || name.size() > kMostNameBytes || !is_plain) {
    node.fail(
        fmt::format("expected a name of 1 to {} bytes without control characters", kMostNameBytes));
  }
  return name;
}

CatalogCluster read_catalog_name(const YamlNode& node) {
  const std::vector<std::string> known = catalog_clusters();
  const std::string name = read_name(node);
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    node.fail(fmt::format("no cluster '{}' in the catalog; use one of {}", shown(name),
                          fmt::join(known, ", ")));
  }
  return catalog_cluster(name);
}

// With other GPUs per node, the catalog's domain and NICs would silently mean something else: half
// of a DGX's GPUs would make domains that span two nodes.
void check_override(const YamlNode& node, const NodeGroupSpec& catalog,
                    const NodeGroupSpec& group) {
  if (catalog.gpus_per_node == group.gpus_per_node) return;
  const bool has_domains = node.find("nvlink_domain_gpus") || node.find("domain_sizes");
  if (has_domains && node.find("nics_per_node")) return;
  node.at("gpus_per_node")
      .fail(fmt::format(
          "the catalog's node has {} GPUs; write nvlink_domain_gpus (or domain_sizes) and "
          "nics_per_node for {} too",
          catalog.gpus_per_node, group.gpus_per_node));
}

void require_all(const YamlNode& node, const NodeGroupSpec& group) {
  node.at("gpus_per_node");
  if (group.domain_sizes.empty()) node.at("nvlink_domain_gpus");
  if (group.nvlink_domain_gpus > 1 || !group.domain_sizes.empty()) node.at("nvlink_bandwidth");
  node.at("nics_per_node");
  node.at("nic_bandwidth");
}

NodeGroupSpec read_group(const YamlNode& node) {
  NodeGroupSpec group;
  group.name = "nodes";
  group.nvlink_latency_s = kNvlinkLatencySeconds;
  group.nic_latency_s = kNicLatencySeconds;
  const auto catalog = node.find("catalog");
  if (catalog) group = read_catalog_name(*catalog).group;
  const NodeGroupSpec before = group;

  if (const auto name = node.find("name")) group.name = read_name(*name);
  group.nodes = static_cast<int>(node.at("nodes").integer(1, detail::kMostGpus));
  for (const detail::GroupKey& key : detail::group_keys()) {
    if (const auto value = node.find(key.name)) key.read(*value, group);
  }
  if (const auto sizes = node.find("domain_sizes")) {
    if (node.find("nvlink_domain_gpus"))
      sizes->fail("stands beside nvlink_domain_gpus; use one of the two");
    for (const YamlNode& size : sizes->items()) {
      group.domain_sizes.push_back(static_cast<int>(size.integer(1, detail::kMostGpus)));
    }
    if (group.domain_sizes.empty())
      sizes->fail("list at least one size, or use nvlink_domain_gpus");
  }
  detail::read_gpu_nics(node, group);
  if (catalog) {
    check_override(node, before, group);
  } else {
    require_all(node, group);
  }
  return group;
}

int read_site_name(const YamlNode& node, const std::vector<std::string>& sites) {
  const std::string name = read_name(node);
  const auto found = std::find(sites.begin(), sites.end(), name);
  if (found == sites.end()) {
    node.fail(fmt::format("no site '{}'; use one of {}", shown(name), fmt::join(sites, ", ")));
  }
  return static_cast<int>(found - sites.begin());
}

WanSpec read_wan(const YamlNode& node, const std::vector<std::string>& sites) {
  node.allow_only({"between", "bandwidth", "latency", "per_flow"});
  const YamlNode between = node.at("between");
  const std::vector<YamlNode> ends = between.items();
  if (ends.size() != 2)
    between.fail(fmt::format("a link joins 2 sites, got {}; write [a, b]", ends.size()));
  WanSpec wan;
  wan.site_a = read_site_name(ends[0], sites);
  wan.site_b = read_site_name(ends[1], sites);
  wan.bytes_per_s = node.at("bandwidth").bandwidth();
  wan.latency_s = node.at("latency").seconds();
  if (const auto flow = node.find("per_flow")) wan.flow_bytes_per_s = flow->bandwidth();
  return wan;
}

StoreSpec read_store(const YamlNode& node, const std::vector<std::string>& sites) {
  node.allow_only(
      {"name", "site", "bandwidth", "per_connection", "connections", "request_latency", "part"});
  StoreSpec store;
  store.name = read_name(node.at("name"));
  const auto site = node.find("site");
  if (site || sites.size() > 1) store.site = read_site_name(node.at("site"), sites);
  store.bytes_per_s = node.at("bandwidth").bandwidth();
  store.connection_bytes_per_s = node.at("per_connection").bandwidth();
  store.connections = static_cast<int>(node.at("connections").integer(1, detail::kMostConnections));
  store.request_latency_s = node.at("request_latency").seconds();
  store.part_bytes = node.at("part").bytes();
  return store;
}

// The fabric that is written for a site; otherwise that of the catalog entry of its first group.
FabricSpec site_fabric(const std::optional<YamlNode>& written, const ClusterSpec& spec,
                       const Parts& parts, int site) {
  if (written) return detail::read_fabric(*written);
  for (std::size_t g = 0; g < spec.groups.size(); ++g) {
    if (spec.groups[g].site != site) continue;
    const auto catalog = parts.groups[g].find("catalog");
    return catalog ? catalog_cluster(catalog->text()).fabric : FabricSpec{};
  }
  return {};
}

// The map that a fault is about.
YamlNode place_of(const detail::ClusterFault& fault, const YamlNode& cluster, const Parts& parts) {
  using Part = detail::ClusterFault::Part;
  switch (fault.part) {
    case Part::cluster:
      break;
    case Part::group:
      return parts.groups[fault.index];
    case Part::site:
      return parts.sites.empty() ? cluster : parts.sites[fault.index];
    case Part::fabric:
      return (parts.sites.empty() ? cluster : parts.sites[fault.index]).at("fabric");
    case Part::wan:
      return parts.wans[fault.index];
    case Part::store:
      return parts.stores[fault.index];
  }
  return cluster;
}

}  // namespace

ClusterSpec read_cluster(const YamlNode& node) {
  const Parts parts(node);
  ClusterSpec spec;
  for (const YamlNode& site : parts.sites) {
    site.allow_only({"name", "fabric"});
    spec.sites.push_back(read_name(site.at("name")));
  }
  if (spec.sites.empty()) spec.sites.push_back(kOneSiteName);

  for (const YamlNode& group : parts.groups) {
    spec.groups.push_back(read_group(group));
    if (const auto site = group.find("site")) {
      spec.groups.back().site = read_site_name(*site, spec.sites);
    } else if (spec.sites.size() > 1) {
      group.at("site");
    }
  }
  for (std::size_t s = 0; s < spec.sites.size(); ++s) {
    const auto fabric = (parts.sites.empty() ? node : parts.sites[s]).find("fabric");
    spec.fabrics.push_back(site_fabric(fabric, spec, parts, static_cast<int>(s)));
  }
  for (const YamlNode& wan : parts.wans) spec.wans.push_back(read_wan(wan, spec.sites));
  for (const YamlNode& store : parts.stores) spec.stores.push_back(read_store(store, spec.sites));

  if (const auto fault = detail::find_fault(spec)) {
    const YamlNode place = place_of(*fault, node, parts);
    if (const auto value = place.find(fault->key)) value->fail(fault->message);
    place.fail(fault->key + ": " + fault->message);
  }
  return spec;
}

}  // namespace refit
