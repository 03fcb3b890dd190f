#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/id.h"
#include "topology/link.h"

namespace refit {

// How the nodes of a cluster are joined outside their NVLink domains.
struct FabricSpec {
  // nodes_per_leaf = 0: flat. Otherwise each group of nodes hangs on one leaf switch (or, if
  // `rail_optimized`, on one leaf per rail) whose trunk to the spine carries the sum of its NICs
  // divided by `oversubscription`.
  int nodes_per_leaf = 0;
  // The nodes of each such group written out (uneven leaves); empty: as above. Sums to the site's.
  std::vector<int> leaf_nodes = {};
  bool rail_optimized = false;
  // >= 1. A flat fabric with more than 1 is one core that carries the sum of all NICs divided by
  // it.
  double oversubscription = 1;
  // What each leaf's trunk carries, written out (uneven uplinks): leaf by leaf, the rails of a
  // group of nodes in turn; empty: as above.
  std::vector<double> trunk_bytes_per_s = {};
  // Spine switches that each leaf has a cable of its own to, with an equal share of the trunk; a
  // transfer takes one of them, chosen by a hash (ECMP), and may collide with others there.
  // 0: every transfer is spread over the whole trunk.
  int spines = 0;
  double latency_s = 0;  // per transfer that crosses a trunk or core

  bool has_leaves() const { return nodes_per_leaf > 0 || !leaf_nodes.empty(); }
  friend bool operator==(const FabricSpec&, const FabricSpec&) = default;
};

// The NICs of its node that a GPU uses, and how far away they are.
struct GpuNics {
  std::vector<int> nics;        // GPUs of a node share all of these or none
  std::string distance = {};    // what the machine calls it ("PIX", "SYS"); empty: not said
  double path_bytes_per_s = 0;  // between the GPU and them; 0: pcie_bytes_per_s of the group

  friend bool operator==(const GpuNics&, const GpuNics&) = default;
};

// Equal nodes, side by side. Numbers are per GPU and direction unless they say otherwise.
struct NodeGroupSpec {
  std::string name;  // catalog name, or what the scenario calls it
  int nodes = 0;
  int gpus_per_node = 0;
  // GPUs of consecutive nodes of this group that reach each other by NVLink; the last domain may be
  // smaller. A multiple or a divisor of gpus_per_node. 1: no NVLink.
  int nvlink_domain_gpus = 0;
  // Sizes of the domains written out (uneven racks); empty: as above. Sums to the group's GPUs.
  std::vector<int> domain_sizes;
  double nvlink_bytes_per_s = 0;
  double nvlink_latency_s = 0;
  // NICs of a node, spread evenly over its GPUs: more NICs than GPUs are bundled per GPU, fewer are
  // shared by neighbouring GPUs. One must divide the other.
  int nics_per_node = 0;
  // Which NICs each GPU of a node uses; empty: spread evenly, as above.
  std::vector<GpuNics> gpu_nics = {};
  double nic_bytes_per_s = 0;  // one NIC
  double nic_latency_s = 0;
  // GPU <-> NIC path where it limits (PCIe, C2C); nothing: never binds.
  std::optional<double> pcie_bytes_per_s;
  double gpu_memory_bytes = 0;  // 0: not known
  int site = 0;

  friend bool operator==(const NodeGroupSpec&, const NodeGroupSpec&) = default;
};

struct WanSpec {
  int site_a = 0;
  int site_b = 1;
  double bytes_per_s = 0;  // per direction
  double latency_s = 0;
  double flow_bytes_per_s = 0;  // most of what one rank sends to another; 0: all of it

  friend bool operator==(const WanSpec&, const WanSpec&) = default;
};

// An object store: it keeps what it is sent and gives it to whoever asks. Objects go in parts, over
// several connections of a client at a time; each part is a request.
struct StoreSpec {
  std::string name;
  int site = 0;
  double bytes_per_s = 0;             // in, and out, of all clients together
  double connection_bytes_per_s = 0;  // one of them, while bytes flow
  int connections = 1;                // that a client has for each direction
  double request_latency_s = 0;       // before the first byte of a part
  std::int64_t part_bytes = 0;

  friend bool operator==(const StoreSpec&, const StoreSpec&) = default;
};

// What a job may use of each port, and no more; 0: all of it.
struct LinkCaps {
  double nic_bytes_per_s = 0;     // of each NIC and direction
  double nvlink_bytes_per_s = 0;  // of each GPU's NVLink port and direction

  bool any() const { return nic_bytes_per_s > 0 || nvlink_bytes_per_s > 0; }
  friend bool operator==(const LinkCaps&, const LinkCaps&) = default;
};

// What others take of links while the refit runs.
struct LinkUse {
  std::vector<LinkKind> kinds;
  std::vector<Rank> ranks;  // whose ports; empty: every link of these kinds
  double share = 0;         // of the bandwidth, below 1
  double bytes_per_s = 0;   // or so much

  friend bool operator==(const LinkUse&, const LinkUse&) = default;
};

struct ClusterSpec {
  std::vector<NodeGroupSpec> groups;  // ranks count through the groups in order, node by node
  std::vector<FabricSpec> fabrics;    // one per site
  std::vector<std::string> sites;     // names; at least one
  std::vector<WanSpec> wans;
  std::vector<StoreSpec> stores = {};  // a rank each, behind those of all groups

  friend bool operator==(const ClusterSpec&, const ClusterSpec&) = default;
};

// The machines as one value: which GPU is where, and every link with its bandwidth.
// Rank r is the r-th GPU; stores are ranks behind them, which no layout names. Each rank is in one
// node and one domain (perhaps alone).
class Cluster {
 public:
  // Error(bad_input) if a count, size or rate is not positive or the parts do not add up.
  explicit Cluster(ClusterSpec spec);

  const ClusterSpec& spec() const { return spec_; }
  int gpus() const { return ranks() - static_cast<int>(spec_.stores.size()); }
  int ranks() const { return static_cast<int>(node_of_.size()); }  // GPUs and stores
  int nodes() const { return nodes_; }
  int domains() const { return static_cast<int>(domain_ranks_.size()); }
  int sites() const { return static_cast<int>(spec_.sites.size()); }

  NodeId node(Rank rank) const { return node_of_[rank.index()]; }
  DomainId domain(Rank rank) const { return domain_of_[rank.index()]; }
  SiteId site(Rank rank) const { return site_of_[rank.index()]; }
  // The rank's NIC counted inside its node: rail-optimised, equal rails meet in one leaf.
  int rail(Rank rank) const { return rail_of_[rank.index()]; }
  std::span<const Rank> domain_ranks(DomainId domain) const {
    return domain_ranks_[domain.index()];
  }
  const NodeGroupSpec& group(Rank rank) const;  // of a store: one made up for it
  const StoreSpec* store(Rank rank) const;      // nullptr: it is a GPU
  Rank store_rank(std::size_t store) const;

  std::span<const Link> links() const { return links_; }
  const Link& link(LinkId id) const { return links_[id.index()]; }

  // Ports. A rank alone in its domain has no NVLink ports; PCIe ports exist where PCIe limits.
  std::optional<LinkId> nvlink_out(Rank rank) const;
  std::optional<LinkId> nvlink_in(Rank rank) const;
  std::optional<LinkId> pcie_out(Rank rank) const;
  std::optional<LinkId> pcie_in(Rank rank) const;
  LinkId nic_out(Rank rank) const;  // shared by all ranks with the same NIC or bundle
  LinkId nic_in(Rank rank) const;
  // Trunks and cores, where they can bind (oversubscription > 1) or add latency.
  std::optional<LinkId> leaf_up(Rank rank) const;
  std::optional<LinkId> leaf_down(Rank rank) const;
  int leaf(Rank rank) const;  // -1 in a flat fabric
  // How many cables the trunk of the rank's leaf is made of, and each of them; 0: it is one link.
  int spines(Rank rank) const;
  LinkId cable_up(Rank rank, int spine) const;
  LinkId cable_down(Rank rank, int spine) const;
  std::optional<LinkId> core(SiteId site) const;
  std::optional<LinkId> wan(SiteId from, SiteId to) const;
  // Most of what one rank of a site sends to one of another; 0: no such limit.
  double wan_flow_bytes_per_s(SiteId from, SiteId to) const;

  // The same machines with slower ports. Trunks keep their bandwidth.
  Cluster capped(const LinkCaps& caps) const;

  // The same machines with what is left of their links. Error(bad_input) if a link has nothing
  // left.
  Cluster beside(const LinkUse& use) const;
  // The same machines, but the software of these ranks takes `times` as long.
  Cluster slowed(std::span<const Rank> ranks, double times) const;
  double slowness(Rank rank) const { return slowness_.empty() ? 1 : slowness_[rank.index()]; }
  bool has_slow_ranks() const { return !slowness_.empty(); }

  friend bool operator==(const Cluster& a, const Cluster& b) {
    return a.spec_ == b.spec_ && a.links_ == b.links_ && a.slowness_ == b.slowness_;
  }

 private:
  void place_ranks();
  void place_domains();
  void add_ports();
  void add_trunks();
  void add_cables(int leaf, const FabricSpec& fabric, double trunk_bytes_per_s);
  void add_wans();
  void place_stores();
  int add_link(std::string name, LinkKind kind, double bytes_per_s, double latency_s);

  ClusterSpec spec_;
  std::vector<NodeGroupSpec> store_groups_;
  int nodes_ = 0;  // of GPUs
  std::vector<NodeId> node_of_;
  std::vector<DomainId> domain_of_;
  std::vector<SiteId> site_of_;
  std::vector<int> rail_of_, group_of_, leaf_of_;
  std::vector<std::vector<Rank>> domain_ranks_;
  std::vector<Link> links_;
  // Link numbers, -1 where there is none; indexed by rank, leaf, site or pair of sites.
  std::vector<int> nvlink_out_, nvlink_in_, pcie_out_, pcie_in_, nic_out_, nic_in_;
  std::vector<int> leaf_up_, leaf_down_, core_, wan_;
  std::vector<double> wan_flow_;  // by pair of sites
  std::vector<double> slowness_;  // by rank; empty: nobody is slow
  std::vector<int> cables_;       // by leaf: the first of its up, down, up, down … links
};

}  // namespace refit
