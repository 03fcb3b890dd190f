#include "report/node_kinds.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace refit {
namespace {

bool alike(NodeGroupSpec a, NodeGroupSpec b) {
  a.nodes = b.nodes = 0;
  a.domain_sizes.clear();  // counted one by one
  b.domain_sizes.clear();
  return a == b;
}

struct Leaf {
  int site = 0;
  std::map<std::size_t, std::set<NodeId>> nodes;
  std::set<LinkId> nics;
  Rank any;
};

std::vector<LeafKind> leaf_kinds(const Cluster& cluster, const std::vector<std::size_t>& kind_of) {
  std::map<int, Leaf> leaves;
  for (int r = 0; r < cluster.gpus(); ++r) {
    const Rank rank{r};
    if (cluster.leaf(rank) < 0) continue;
    Leaf& leaf = leaves[cluster.leaf(rank)];
    leaf.site = cluster.site(rank).value;
    leaf.nodes[kind_of[rank.index()]].insert(cluster.node(rank));
    leaf.nics.insert(cluster.nic_out(rank));
    leaf.any = rank;
  }
  std::vector<LeafKind> kinds;
  for (const auto& [number, leaf] : leaves) {
    LeafKind kind;
    kind.site = leaf.site;
    for (const auto& [node_kind, nodes] : leaf.nodes)
      kind.nodes[node_kind] = static_cast<int>(nodes.size());
    for (const LinkId nic : leaf.nics)
      kind.nics_bytes_per_s += cluster.link(nic).bandwidth_bytes_per_s;
    // A trunk that never binds is no link.
    const auto trunk = cluster.leaf_up(leaf.any);
    kind.trunk_bytes_per_s =
        trunk ? cluster.link(*trunk).bandwidth_bytes_per_s : kind.nics_bytes_per_s;
    const auto same = [&](const LeafKind& other) {
      return std::tie(other.site, other.nodes, other.nics_bytes_per_s, other.trunk_bytes_per_s) ==
             std::tie(kind.site, kind.nodes, kind.nics_bytes_per_s, kind.trunk_bytes_per_s);
    };
    auto found = std::find_if(kinds.begin(), kinds.end(), same);
    if (found == kinds.end()) found = kinds.insert(kinds.end(), kind);
    ++found->leaves;
  }
  return kinds;
}

}  // namespace

ClusterKinds cluster_kinds(const Cluster& cluster, const Refit& refit) {
  ClusterKinds kinds;
  std::vector<std::size_t> kind_of_group;
  for (const NodeGroupSpec& group : cluster.spec().groups) {
    const auto same = [&](const NodeKind& kind) { return alike(*kind.group, group); };
    auto found = std::find_if(kinds.nodes.begin(), kinds.nodes.end(), same);
    if (found == kinds.nodes.end()) {
      found = kinds.nodes.insert(kinds.nodes.end(), NodeKind{});
      found->group = &group;
    }
    found->nodes += group.nodes;
    kind_of_group.push_back(static_cast<std::size_t>(found - kinds.nodes.begin()));
  }
  const Sides sides(refit, cluster);
  std::vector<std::size_t> kind_of;  // by rank
  for (int r = 0; r < cluster.gpus(); ++r) {
    const Rank rank{r};
    const auto group = &cluster.group(rank) - cluster.spec().groups.data();
    kind_of.push_back(kind_of_group[static_cast<std::size_t>(group)]);
    NodeKind& kind = kinds.nodes[kind_of.back()];
    const auto ranks = cluster.domain_ranks(cluster.domain(rank));
    if (ranks.front() == rank) ++kind.domains[static_cast<int>(ranks.size())];
    if (!sides.knows(rank)) continue;
    kind.sources += sides.of(rank).source ? 1 : 0;
    kind.destinations += sides.of(rank).destination ? 1 : 0;
  }
  kinds.leaves = leaf_kinds(cluster, kind_of);
  return kinds;
}

}  // namespace refit
