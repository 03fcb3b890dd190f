#include "executor/detail/lab_plan.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "base/error.h"
#include "base/units.h"
#include "executor/detail/lab_shaper.h"
#include "executor/detail/lab_tool.h"
#include "topology/route.h"

namespace refit::detail {
namespace {

constexpr int kMaxRanks = 256;  // set-up takes 5 s, and no two cores feed more
constexpr double kMinBytesPerSecond = 1e6 / 8;
constexpr double kMaxBytesPerSecond = 100e9 / 8;  // what no machine's memory carries for long
constexpr std::size_t kMaxQueues = 256;           // a packet is held against them one by one

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorCode::bad_input, "lab: " + message);
}

std::string address(int second_byte, Rank rank) {
  return fmt::format("198.{}.{}.{}", second_byte, rank.value / 250, rank.value % 250 + 1);
}

// Cables and switches of one cluster, in the order in which they are plugged.
class Planner {
 public:
  Planner(const Cluster& cluster, const LabOptions& options)
      : cluster_(cluster), options_(options) {
    plan_.rank_links.resize(static_cast<std::size_t>(cluster.ranks()), "link set lo up\n");
    plan_.rank_shapers.resize(static_cast<std::size_t>(cluster.ranks()));
  }

  LabPlan plan() {
    check();
    for (int s = 0; s < cluster_.sites(); ++s) add_switch(site_switch(SiteId(s)));
    add_wans();
    for (int r = 0; r < cluster_.ranks(); ++r) {
      const Rank rank(r);
      add_nic(rank);
      if (cluster_.nvlink_out(rank)) add_nvlink(rank);
    }
    return std::move(plan_);
  }

 private:
  void check() const {
    if (cluster_.ranks() > kMaxRanks) {
      refuse(fmt::format("{} ranks are more than the {} that one machine can play",
                         cluster_.ranks(), kMaxRanks));
    }
    for (const StoreSpec& store : cluster_.spec().stores) check(store);
    for (const WanSpec& wan : cluster_.spec().wans) {
      if (wan.flow_bytes_per_s > 0)
        refuse("its links are shared by all flows alike; leave per_flow of cluster.wan out");
    }
    for (const Link& link : cluster_.links()) check(link);
    for (int r = 0; r < cluster_.ranks(); ++r) {
      if (cluster_.spines(Rank(r)) > 0)
        refuse(
            fmt::format("{} is a cable that transfers are hashed onto, which it does not have; "
                        "leave fabric.spines out",
                        cluster_.link(cluster_.cable_up(Rank(r), 0)).name));
    }
    for (int s = 0; s < cluster_.sites(); ++s) {
      if (const auto core = cluster_.core(SiteId(s))) {
        refuse(
            fmt::format("{} is one link that all transfers share, which a switch cannot stand "
                        "for; give fabric.nodes_per_leaf, or an oversubscription of 1",
                        cluster_.link(*core).name));
      }
    }
    if (cluster_.spec().wans.size() >= cluster_.spec().sites.size()) {
      refuse("the wan links between the sites form a circle; a lab needs a tree");
    }
    for (int r = 1; r < cluster_.ranks(); ++r) check_neighbours(Rank(r - 1), Rank(r));
  }

  // A store is one more rank, with a connection to each client and lane.
  void check(const StoreSpec& store) const {
    if (store.request_latency_s == 0 && store.connection_bytes_per_s >= store.bytes_per_s) return;
    refuse(
        fmt::format("store {} has answers at once and connections as fast as itself, there; set "
                    "request_latency to 0 s and per_connection to {}",
                    store.name, format_bandwidth(store.bytes_per_s)));
  }

  void check(const Link& link) const {
    const double rate = link.bandwidth_bytes_per_s;
    if (rate >= kMinBytesPerSecond && rate <= kMaxBytesPerSecond) return;
    refuse(fmt::format("{} has {}; scale the cluster so that every link has {} to {}", link.name,
                       format_bandwidth(rate), format_bandwidth(kMinBytesPerSecond),
                       format_bandwidth(kMaxBytesPerSecond)));
  }

  // Ranks of one node follow each other, and so do those that share a NIC; two domains that meet
  // inside a node meet at two neighbours.
  void check_neighbours(Rank a, Rank b) const {
    const RouteKind kind = route_kind(cluster_, a, b);
    if (kind == RouteKind::node) {
      refuse(
          fmt::format("ranks {} and {} reach each other by PCIe, which a lab has no link for; "
                      "leave the PCIe rate out, or put them in one NVLink domain",
                      a.value, b.value));
    }
    if (kind == RouteKind::network && cluster_.nic_out(a) == cluster_.nic_out(b)) {
      refuse(
          fmt::format("ranks {} and {} share a NIC and have no NVLink between them, so their "
                      "bytes would turn round before it; give each rank a NIC",
                      a.value, b.value));
    }
  }

  double rate(LinkId link) const { return cluster_.link(link).bandwidth_bytes_per_s; }
  double rate(LinkId link, std::optional<LinkId> other) const {
    return other ? std::min(rate(link), rate(*other)) : rate(link);
  }

  static std::string site_switch(SiteId site) { return fmt::format("site{}", site.value); }

  void add_switch(const std::string& name) {
    if (!switches_.insert(name).second) return;
    plan_.switches += fmt::format(
        "link add {0} mtu {1} type bridge stp_state 0 mcast_snooping 0\nlink set {0} up\n", name,
        options_.mtu);
  }

  // A cable between two switches of the core; each end shapes what it sends into the cable.
  void add_trunk(const std::string& end_a, const std::string& switch_a, const std::string& end_b,
                 const std::string& switch_b) {
    plan_.switches += fmt::format(
        "link add {0} mtu {4} numtxqueues 1 numrxqueues 1 type veth peer name {2} mtu {4} "
        "numtxqueues 1 numrxqueues 1\n"
        "link set {0} master {1}\nlink set {0} up\nlink set {2} master {3}\nlink set {2} up\n",
        end_a, switch_a, end_b, switch_b, options_.mtu);
  }

  void add_wans() {
    for (const WanSpec& wan : cluster_.spec().wans) {
      const SiteId a(wan.site_a), b(wan.site_b);
      const std::string to_b = fmt::format("wan{}to{}", a.value, b.value);
      const std::string to_a = fmt::format("wan{}to{}", b.value, a.value);
      add_trunk(to_b, site_switch(a), to_a, site_switch(b));
      const auto ranks_at = [&](SiteId site) {
        return ranks_where([&](Rank rank) { return cluster_.site(rank) == site; });
      };
      shape_core(to_b, wan.bytes_per_s, pairs(ranks_at(a), ranks_at(b)));
      shape_core(to_a, wan.bytes_per_s, pairs(ranks_at(b), ranks_at(a)));
    }
  }

  // The switch that a NIC of this rank is plugged into; made with its trunk on first use.
  std::string fabric_switch(Rank rank) {
    const std::string site = site_switch(cluster_.site(rank));
    const auto up = cluster_.leaf_up(rank);
    if (!up) return site;
    const int leaf = cluster_.leaf(rank);
    const std::string name = fmt::format("leaf{}", leaf);
    if (switches_.contains(name)) return name;
    add_switch(name);
    const std::string up_end = fmt::format("up{}", leaf), down_end = fmt::format("down{}", leaf);
    add_trunk(up_end, name, down_end, site);
    const auto inside = ranks_where([&](Rank other) { return cluster_.leaf(other) == leaf; });
    const auto outside = ranks_where([&](Rank other) { return cluster_.leaf(other) != leaf; });
    shape_core(up_end, rate(*up), pairs(inside, outside));
    shape_core(down_end, rate(*cluster_.leaf_down(rank)), pairs(outside, inside));
    return name;
  }

  void add_nic(Rank rank) {
    const std::string fabric = fabric_switch(rank);
    const LinkId out = cluster_.nic_out(rank), in = cluster_.nic_in(rank);
    const auto sharers = ranks_where([&](Rank other) { return cluster_.nic_out(other) == out; });
    const auto peers = ranks_where(
        [&](Rank other) { return route_kind(cluster_, rank, other) == RouteKind::network; });
    const auto pcie_out = cluster_.pcie_out(rank), pcie_in = cluster_.pcie_in(rank);
    const std::string port = fmt::format("n{}", rank.value);
    if (sharers.size() == 1) {
      plug(rank, "nic0", port, nic_address(rank), fabric);
      shape_rank(rank, "nic0", rate(out, pcie_out), to(peers, nic_address));
      shape_core(port, rate(in, pcie_in), from(peers, nic_address));
      return;
    }
    // The sharers meet in a switch of their own; its cable to the fabric is the NIC.
    const std::string nic = fmt::format("nic{}", sharers.front().value);
    if (!switches_.contains(nic)) {
      add_switch(nic);
      const std::string out_end = nic + "out", in_end = nic + "in";
      add_trunk(out_end, nic, in_end, fabric);
      shape_core(out_end, rate(out), pairs(sharers, peers));
      shape_core(in_end, rate(in), pairs(peers, sharers));
    }
    plug(rank, "nic0", port, nic_address(rank), nic);
    if (pcie_out) shape_rank(rank, "nic0", rate(*pcie_out), to(peers, nic_address));
    if (pcie_in) shape_core(port, rate(*pcie_in), from(peers, nic_address));
  }

  void add_nvlink(Rank rank) {
    const DomainId domain = cluster_.domain(rank);
    const std::string name = fmt::format("domain{}", domain.value);
    add_switch(name);
    const auto peers =
        ranks_where([&](Rank other) { return other != rank && cluster_.domain(other) == domain; });
    const std::string port = fmt::format("v{}", rank.value);
    plug(rank, "nvl0", port, nvlink_address(rank), name);
    shape_rank(rank, "nvl0", rate(*cluster_.nvlink_out(rank)), to(peers, nvlink_address));
    shape_core(port, rate(*cluster_.nvlink_in(rank)), from(peers, nvlink_address));
  }

  // A cable from the rank's device to a port of a switch in the core. One queue per device: with
  // more, the shaper would sit on each of them.
  void plug(Rank rank, const std::string& device, const std::string& port,
            const std::string& own_address, const std::string& into) {
    plan_.rank_links[rank.index()] += fmt::format(
        "link add {0} mtu {1} numtxqueues 1 numrxqueues 1 type veth peer name {2} mtu {1} "
        "numtxqueues 1 numrxqueues 1 netns /proc/self/fd/{3}\n"
        "addr add {4}/16 dev {0}\nlink set {0} up\n",
        device, options_.mtu, port, kCoreFd, own_address);
    plan_.ports += fmt::format("link set {0} master {1}\nlink set {0} up\n", port, into);
  }

  template <class Predicate>
  std::vector<Rank> ranks_where(Predicate predicate) const {
    std::vector<Rank> ranks;
    for (int r = 0; r < cluster_.ranks(); ++r) {
      if (predicate(Rank(r))) ranks.emplace_back(r);
    }
    return ranks;
  }

  using AddressOf = std::string (*)(Rank);
  static std::vector<std::string> to(const std::vector<Rank>& ranks, AddressOf address_of) {
    std::vector<std::string> queues;
    for (const Rank rank : ranks) queues.push_back(fmt::format("ip dst {}/32", address_of(rank)));
    return queues;
  }
  static std::vector<std::string> from(const std::vector<Rank>& ranks, AddressOf address_of) {
    std::vector<std::string> queues;
    for (const Rank rank : ranks) queues.push_back(fmt::format("ip src {}/32", address_of(rank)));
    return queues;
  }
  // Only a fair lab looks at them, and there are many.
  std::vector<std::string> pairs(const std::vector<Rank>& sources,
                                 const std::vector<Rank>& destinations) const {
    std::vector<std::string> queues;
    if (!options_.fair) return queues;
    if (sources.size() * destinations.size() > kMaxQueues) {
      refuse(
          fmt::format("a link that {} ranks send through to {} others would need more than {} "
                      "queues to be fair; run this cluster without fair queues",
                      sources.size(), destinations.size(), kMaxQueues));
    }
    for (const Rank src : sources) {
      for (const Rank dst : destinations) {
        queues.push_back(
            fmt::format("ip src {}/32 match ip dst {}/32", nic_address(src), nic_address(dst)));
      }
    }
    return queues;
  }

  void shape_core(std::string device, double bytes_per_s, std::vector<std::string> queues) {
    plan_.core_shapers +=
        shaper_lines({std::move(device), bytes_per_s, std::move(queues)}, options_);
  }
  void shape_rank(Rank rank, std::string device, double bytes_per_s,
                  std::vector<std::string> queues) {
    plan_.rank_shapers[rank.index()] +=
        shaper_lines({std::move(device), bytes_per_s, std::move(queues)}, options_);
  }

  const Cluster& cluster_;
  const LabOptions& options_;
  LabPlan plan_;
  std::set<std::string> switches_;
};

}  // namespace

LabPlan plan_lab(const Cluster& cluster, const LabOptions& options) {
  return Planner(cluster, options).plan();
}

std::string nic_address(Rank rank) { return address(18, rank); }
std::string nvlink_address(Rank rank) { return address(19, rank); }

}  // namespace refit::detail
