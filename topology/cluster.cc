#include "topology/cluster.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/units.h"
#include "topology/detail/cluster_check.h"

namespace refit {
namespace {

constexpr int kNoLink = -1;
constexpr int kNoLeaf = -1;

std::size_t at(int index) { return static_cast<std::size_t>(index); }

std::optional<LinkId> optional_link(int number) {
  if (number == kNoLink) return std::nullopt;
  return LinkId{number};
}

// The NICs that the same GPUs use are one bundle, and one link. Bundles count in the order in which
// the GPUs of a node meet them.
struct NicBundles {
  std::vector<int> of_gpu;
  std::vector<std::vector<int>> nics;  // of each bundle

  explicit NicBundles(const NodeGroupSpec& group) {
    const int gpus_per_nic = std::max(1, group.gpus_per_node / group.nics_per_node);
    const int nics_per_gpu = std::max(1, group.nics_per_node / group.gpus_per_node);
    for (int gpu = 0; gpu < group.gpus_per_node; ++gpu) {
      std::vector<int> used;
      if (group.gpu_nics.empty()) {
        for (int k = 0; k < nics_per_gpu; ++k)
          used.push_back(gpu / gpus_per_nic * nics_per_gpu + k);
      } else {
        used = group.gpu_nics[at(gpu)].nics;
      }
      const auto found = std::find(nics.begin(), nics.end(), used);
      of_gpu.push_back(static_cast<int>(found - nics.begin()));
      if (found == nics.end()) nics.push_back(std::move(used));
    }
  }
};

std::string nic_name(int node, const std::vector<int>& nics) {
  if (nics.size() == 1) return fmt::format("node {} nic {}", node, nics.front());
  const bool is_run = nics.back() - nics.front() == static_cast<int>(nics.size()) - 1;
  if (is_run) return fmt::format("node {} nics {}-{}", node, nics.front(), nics.back());
  return fmt::format("node {} nics {}", node, fmt::join(nics, ","));
}

std::optional<double> path_rate(const NodeGroupSpec& group, int gpu) {
  if (group.gpu_nics.empty() || group.gpu_nics[at(gpu)].path_bytes_per_s == 0)
    return group.pcie_bytes_per_s;
  return group.gpu_nics[at(gpu)].path_bytes_per_s;
}

// A trunk that carries all its NICs can give and adds no time changes nothing, so it gets no link.
bool matters(const FabricSpec& fabric) {
  return fabric.oversubscription > 1 || fabric.latency_s > 0;
}

// Counts a site's nodes into the groups that hang on one leaf (or on one leaf per rail).
class LeafFilling {
 public:
  // Whether the next node opens a group.
  bool next(const FabricSpec& fabric) {
    if (!fabric.has_leaves()) return false;
    if (left_ == 0) {
      left_ = fabric.leaf_nodes.empty() ? fabric.nodes_per_leaf : fabric.leaf_nodes[block_];
      ++block_;
      opened_ = true;
    }
    --left_;
    return std::exchange(opened_, false);
  }
  std::vector<int> leaf_of_rail;

 private:
  std::size_t block_ = 0;
  int left_ = 0;
  bool opened_ = false;
};

}  // namespace

Cluster::Cluster(ClusterSpec spec) : spec_(std::move(spec)) {
  if (const auto fault = detail::find_fault(spec_)) {
    throw Error(ErrorCode::bad_input, detail::describe(*fault, spec_));
  }
  place_ranks();
  place_domains();
  add_ports();
  add_trunks();  // after the ports: a trunk's rate is what feeds it
  add_wans();
  place_stores();  // after all that counts GPUs
}

void Cluster::place_ranks() {
  std::vector<LeafFilling> filling(spec_.sites.size());
  int leaves = 0;

  for (std::size_t g = 0; g < spec_.groups.size(); ++g) {
    const NodeGroupSpec& group = spec_.groups[g];
    const FabricSpec& fabric = spec_.fabrics[at(group.site)];
    const NicBundles bundles(group);
    LeafFilling& site = filling[at(group.site)];
    for (int n = 0; n < group.nodes; ++n, ++nodes_) {
      if (site.next(fabric)) site.leaf_of_rail.clear();
      for (int gpu = 0; gpu < group.gpus_per_node; ++gpu) {
        const int rail = bundles.of_gpu[at(gpu)];
        int leaf = kNoLeaf;
        if (fabric.has_leaves()) {
          const std::size_t slot = fabric.rail_optimized ? at(rail) : 0;
          // A new rail opens the next leaf: the rails of a node count up from 0.
          if (slot == site.leaf_of_rail.size()) site.leaf_of_rail.push_back(leaves++);
          leaf = site.leaf_of_rail[slot];
        }
        node_of_.emplace_back(nodes_);
        site_of_.emplace_back(group.site);
        group_of_.push_back(static_cast<int>(g));
        rail_of_.push_back(rail);
        leaf_of_.push_back(leaf);
      }
    }
  }
}

void Cluster::place_domains() {
  domain_of_.reserve(node_of_.size());
  const auto add_domain = [this](int size) {
    std::vector<Rank>& ranks = domain_ranks_.emplace_back();
    ranks.reserve(at(size));
    for (int i = 0; i < size; ++i) {
      ranks.emplace_back(static_cast<std::int64_t>(domain_of_.size()));
      domain_of_.emplace_back(static_cast<std::int64_t>(domain_ranks_.size()) - 1);
    }
  };
  for (const NodeGroupSpec& group : spec_.groups) {
    for (const int size : group.domain_sizes) add_domain(size);
    if (!group.domain_sizes.empty()) continue;
    for (int left = group.nodes * group.gpus_per_node; left > 0; left -= group.nvlink_domain_gpus) {
      add_domain(std::min(left, group.nvlink_domain_gpus));
    }
  }
}

// Latency stands on the way out only, so that a path has it once.
void Cluster::add_ports() {
  std::vector<NicBundles> bundles_of_group;
  for (const NodeGroupSpec& group : spec_.groups) bundles_of_group.emplace_back(group);
  int gpu = 0;
  std::vector<std::pair<int, int>> bundle_links;  // of the node: out and in
  for (std::size_t r = 0; r < node_of_.size(); ++r, ++gpu) {
    const NodeGroupSpec& group = spec_.groups[at(group_of_[r])];
    const int node = node_of_[r].value;
    if (r == 0 || node_of_[r - 1] != node_of_[r]) {
      gpu = 0;
      bundle_links.clear();
    }

    const bool has_nvlink = domain_ranks_[domain_of_[r].index()].size() > 1;
    int nvlink_out = kNoLink, nvlink_in = kNoLink, pcie_out = kNoLink, pcie_in = kNoLink;
    if (has_nvlink) {
      const double rate = group.nvlink_bytes_per_s;
      nvlink_out = add_link(fmt::format("node {} gpu {} nvlink out", node, gpu), LinkKind::nvlink,
                            rate, group.nvlink_latency_s);
      nvlink_in =
          add_link(fmt::format("node {} gpu {} nvlink in", node, gpu), LinkKind::nvlink, rate, 0);
    }
    if (const auto path = path_rate(group, gpu)) {
      const double rate = *path;
      pcie_out =
          add_link(fmt::format("node {} gpu {} pcie out", node, gpu), LinkKind::pcie, rate, 0);
      pcie_in = add_link(fmt::format("node {} gpu {} pcie in", node, gpu), LinkKind::pcie, rate, 0);
    }
    nvlink_out_.push_back(nvlink_out);
    nvlink_in_.push_back(nvlink_in);
    pcie_out_.push_back(pcie_out);
    pcie_in_.push_back(pcie_in);

    const std::size_t rail = at(rail_of_[r]);
    if (rail == bundle_links.size()) {
      const std::vector<int>& nics = bundles_of_group[at(group_of_[r])].nics[rail];
      const double rate = group.nic_bytes_per_s * static_cast<double>(nics.size());
      const std::string name = nic_name(node, nics);
      const int out = add_link(name + " out", LinkKind::nic, rate, group.nic_latency_s);
      bundle_links.emplace_back(out, add_link(name + " in", LinkKind::nic, rate, 0));
    }
    nic_out_.push_back(bundle_links[rail].first);
    nic_in_.push_back(bundle_links[rail].second);
  }
}

void Cluster::add_trunks() {
  struct Leaf {
    int site = 0;
    double bytes_per_s = 0;
  };
  std::vector<bool> has_fed(links_.size(), false);
  std::vector<Leaf> leaves;  // leaves are numbered in the order ranks meet them
  std::vector<double> site_bytes_per_s(spec_.sites.size());
  for (std::size_t r = 0; r < node_of_.size(); ++r) {
    if (leaf_of_[r] == static_cast<int>(leaves.size())) leaves.push_back({site_of_[r].value, 0});
    if (has_fed[at(nic_out_[r])]) continue;  // each NIC feeds once
    has_fed[at(nic_out_[r])] = true;
    const double rate = links_[at(nic_out_[r])].bandwidth_bytes_per_s;
    site_bytes_per_s[site_of_[r].index()] += rate;
    if (leaf_of_[r] != kNoLeaf) leaves[at(leaf_of_[r])].bytes_per_s += rate;
  }

  leaf_up_.assign(leaves.size(), kNoLink);
  leaf_down_.assign(leaves.size(), kNoLink);
  cables_.assign(leaves.size(), kNoLink);
  std::vector<std::size_t> leaves_of_site(spec_.sites.size());
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const FabricSpec& fabric = spec_.fabrics[at(leaves[i].site)];
    const std::size_t number = leaves_of_site[at(leaves[i].site)]++;
    double rate = leaves[i].bytes_per_s / fabric.oversubscription;
    bool binds = matters(fabric);
    if (!fabric.trunk_bytes_per_s.empty()) {
      rate = fabric.trunk_bytes_per_s[number];
      binds |= rate < leaves[i].bytes_per_s;
    }
    add_cables(static_cast<int>(i), fabric, rate);
    if (!binds) continue;
    leaf_up_[i] = add_link(fmt::format("leaf {} up", i), LinkKind::fabric, rate, fabric.latency_s);
    leaf_down_[i] = add_link(fmt::format("leaf {} down", i), LinkKind::fabric, rate, 0);
  }
  core_.assign(spec_.sites.size(), kNoLink);
  for (std::size_t site = 0; site < spec_.sites.size(); ++site) {
    const FabricSpec& fabric = spec_.fabrics[site];
    if (fabric.has_leaves() || !matters(fabric)) continue;
    core_[site] = add_link(fmt::format("core {}", spec_.sites[site]), LinkKind::fabric,
                           site_bytes_per_s[site] / fabric.oversubscription, fabric.latency_s);
  }
}

// Latency stays with the trunk where there is one, so that a path has it once.
void Cluster::add_cables(int leaf, const FabricSpec& fabric, double trunk_bytes_per_s) {
  const double rate = trunk_bytes_per_s / fabric.spines;
  for (int spine = 0; spine < fabric.spines; ++spine) {
    const int up =
        add_link(fmt::format("leaf {} to spine {}", leaf, spine), LinkKind::fabric, rate, 0);
    if (spine == 0) cables_[at(leaf)] = up;
    add_link(fmt::format("spine {} to leaf {}", spine, leaf), LinkKind::fabric, rate, 0);
  }
}

void Cluster::add_wans() {
  wan_.assign(spec_.sites.size() * spec_.sites.size(), kNoLink);
  wan_flow_.assign(wan_.size(), 0);
  const auto add_direction = [this](int from, int to, const WanSpec& wan) {
    wan_[at(from) * spec_.sites.size() + at(to)] =
        add_link(fmt::format("wan {} to {}", spec_.sites[at(from)], spec_.sites[at(to)]),
                 LinkKind::wan, wan.bytes_per_s, wan.latency_s);
    wan_flow_[at(from) * spec_.sites.size() + at(to)] = wan.flow_bytes_per_s;
  };
  for (const WanSpec& wan : spec_.wans) {
    add_direction(wan.site_a, wan.site_b, wan);
    add_direction(wan.site_b, wan.site_a, wan);
  }
}

// Each is a node of one rank in a domain of its own, and its two links are what a NIC's would be.
void Cluster::place_stores() {
  for (std::size_t s = 0; s < spec_.stores.size(); ++s) {
    const StoreSpec& store = spec_.stores[s];
    NodeGroupSpec group;
    group.name = "store " + store.name;
    group.nodes = group.gpus_per_node = group.nvlink_domain_gpus = group.nics_per_node = 1;
    group.nic_bytes_per_s = store.bytes_per_s;
    group.site = store.site;
    group_of_.push_back(static_cast<int>(spec_.groups.size() + s));
    store_groups_.push_back(std::move(group));
    const Rank rank{static_cast<std::int64_t>(node_of_.size())};
    node_of_.emplace_back(nodes_ + static_cast<int>(s));
    domain_of_.emplace_back(static_cast<std::int64_t>(domain_ranks_.size()));
    domain_ranks_.push_back({rank});
    site_of_.emplace_back(store.site);
    rail_of_.push_back(0);
    leaf_of_.push_back(kNoLeaf);
    for (std::vector<int>* port : {&nvlink_out_, &nvlink_in_, &pcie_out_, &pcie_in_})
      port->push_back(kNoLink);
    const std::string name = "store " + store.name;
    nic_out_.push_back(add_link(name + " out", LinkKind::store, store.bytes_per_s, 0));
    nic_in_.push_back(add_link(name + " in", LinkKind::store, store.bytes_per_s, 0));
  }
}

int Cluster::add_link(std::string name, LinkKind kind, double bytes_per_s, double latency_s) {
  links_.push_back({std::move(name), kind, bytes_per_s, latency_s});
  return static_cast<int>(links_.size()) - 1;
}

const NodeGroupSpec& Cluster::group(Rank rank) const {
  const std::size_t group = at(group_of_[rank.index()]);
  return group < spec_.groups.size() ? spec_.groups[group]
                                     : store_groups_[group - spec_.groups.size()];
}

const StoreSpec* Cluster::store(Rank rank) const {
  const auto first = at(gpus());
  return rank.index() < first ? nullptr : &spec_.stores[rank.index() - first];
}

Rank Cluster::store_rank(std::size_t store) const {
  return Rank(gpus() + static_cast<std::int64_t>(store));
}

std::optional<LinkId> Cluster::nvlink_out(Rank rank) const {
  return optional_link(nvlink_out_[rank.index()]);
}
std::optional<LinkId> Cluster::nvlink_in(Rank rank) const {
  return optional_link(nvlink_in_[rank.index()]);
}
std::optional<LinkId> Cluster::pcie_out(Rank rank) const {
  return optional_link(pcie_out_[rank.index()]);
}
std::optional<LinkId> Cluster::pcie_in(Rank rank) const {
  return optional_link(pcie_in_[rank.index()]);
}
LinkId Cluster::nic_out(Rank rank) const { return LinkId{nic_out_[rank.index()]}; }
LinkId Cluster::nic_in(Rank rank) const { return LinkId{nic_in_[rank.index()]}; }

std::optional<LinkId> Cluster::leaf_up(Rank rank) const {
  const int number = leaf(rank);
  return number == kNoLeaf ? std::nullopt : optional_link(leaf_up_[at(number)]);
}

std::optional<LinkId> Cluster::leaf_down(Rank rank) const {
  const int number = leaf(rank);
  return number == kNoLeaf ? std::nullopt : optional_link(leaf_down_[at(number)]);
}

int Cluster::leaf(Rank rank) const { return leaf_of_[rank.index()]; }

int Cluster::spines(Rank rank) const {
  return leaf(rank) == kNoLeaf ? 0 : spec_.fabrics[site(rank).index()].spines;
}

LinkId Cluster::cable_up(Rank rank, int spine) const {
  return LinkId{cables_[at(leaf(rank))] + 2 * spine};
}

LinkId Cluster::cable_down(Rank rank, int spine) const {
  return LinkId{cables_[at(leaf(rank))] + 2 * spine + 1};
}

std::optional<LinkId> Cluster::core(SiteId site) const {
  return optional_link(core_[site.index()]);
}

std::optional<LinkId> Cluster::wan(SiteId from, SiteId to) const {
  return optional_link(wan_[from.index() * spec_.sites.size() + to.index()]);
}

double Cluster::wan_flow_bytes_per_s(SiteId from, SiteId to) const {
  return wan_flow_[from.index() * spec_.sites.size() + to.index()];
}

Cluster Cluster::capped(const LinkCaps& caps) const {
  Cluster result = *this;
  const auto limit = [](Link& link, double cap) {
    if (cap > 0) link.bandwidth_bytes_per_s = std::min(link.bandwidth_bytes_per_s, cap);
  };
  for (Link& link : result.links_) {
    if (link.kind == LinkKind::nic) limit(link, caps.nic_bytes_per_s);
    if (link.kind == LinkKind::nvlink) limit(link, caps.nvlink_bytes_per_s);
  }
  return result;
}

Cluster Cluster::beside(const LinkUse& use) const {
  Cluster result = *this;
  std::vector<bool> of_ranks(links_.size(), use.ranks.empty());
  for (const Rank rank : use.ranks) {
    for (const auto& port : {nvlink_out(rank), nvlink_in(rank), pcie_out(rank), pcie_in(rank),
                             std::optional(nic_out(rank)), std::optional(nic_in(rank))}) {
      if (port) of_ranks[port->index()] = true;
    }
  }
  for (std::size_t l = 0; l < links_.size(); ++l) {
    Link& link = result.links_[l];
    const bool meant = std::find(use.kinds.begin(), use.kinds.end(), link.kind) != use.kinds.end();
    if (!meant || !of_ranks[l]) continue;
    const double rate = link.bandwidth_bytes_per_s;
    link.bandwidth_bytes_per_s = rate * (1 - use.share) - use.bytes_per_s;
    // What can't be told from nothing would make predictions of days.
    if (!(link.bandwidth_bytes_per_s > 1e-6 * rate)) {
      throw Error(ErrorCode::bad_input, fmt::format("{} has {}, and others take all of it",
                                                    link.name, format_bandwidth(rate)));
    }
  }
  return result;
}

Cluster Cluster::slowed(std::span<const Rank> ranks, double times) const {
  Cluster result = *this;
  if (result.slowness_.empty()) result.slowness_.assign(node_of_.size(), 1);
  for (const Rank rank : ranks) result.slowness_[rank.index()] *= times;
  return result;
}

}  // namespace refit
