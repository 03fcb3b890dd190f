#include "topology/route.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"

namespace refit {
namespace {

class Path {
 public:
  explicit Path(const Cluster& cluster, RouteKind kind) : cluster_(cluster) { route_.kind = kind; }

  void add(std::optional<LinkId> link) {
    if (!link) return;
    route_.links.push_back(*link);
    route_.latency_s += cluster_.link(*link).latency_s;
  }
  Route take() { return std::move(route_); }

 private:
  const Cluster& cluster_;
  Route route_;
};

LinkId wan_between(const Cluster& cluster, Rank src, Rank dst) {
  const SiteId from = cluster.site(src);
  const SiteId to = cluster.site(dst);
  if (const auto link = cluster.wan(from, to)) return *link;
  throw Error(
      ErrorCode::bad_input,
      fmt::format(
          "route from rank {} to rank {}: no wan link joins sites '{}' and '{}'; add one to "
          "cluster.wan",
          src.value, dst.value, cluster.spec().sites[from.index()],
          cluster.spec().sites[to.index()]));
}

// As a switch does it: the ends of the transfer decide, and decide the same each time. Well mixed
// (the finaliser of MurmurHash3), or neighbouring ranks would follow a pattern.
int hashed_spine(Rank src, Rank dst, int spines) {
  std::uint64_t h = (static_cast<std::uint64_t>(src.index()) << 32) | dst.index();
  h = (h ^ (h >> 33)) * 0xff51afd7ed558ccdULL;
  h = (h ^ (h >> 33)) * 0xc4ceb9fe1a85ec53ULL;
  h ^= h >> 33;
  return static_cast<int>(h % static_cast<std::uint64_t>(spines));
}

void add_up(const Cluster& cluster, Rank src, Rank dst, Path& path) {
  path.add(cluster.leaf_up(src));
  if (const int spines = cluster.spines(src); spines > 0)
    path.add(cluster.cable_up(src, hashed_spine(src, dst, spines)));
}

void add_down(const Cluster& cluster, Rank src, Rank dst, Path& path) {
  if (const int spines = cluster.spines(dst); spines > 0)
    path.add(cluster.cable_down(dst, hashed_spine(src, dst, spines)));
  path.add(cluster.leaf_down(dst));
}

// What a transfer crosses between the NIC it leaves by and the NIC it arrives at.
void add_fabric(const Cluster& cluster, Rank src, Rank dst, Path& path) {
  if (cluster.site(src) != cluster.site(dst)) {
    add_up(cluster, src, dst, path);  // a site has leaves or a core, never both
    path.add(cluster.core(cluster.site(src)));
    path.add(wan_between(cluster, src, dst));
    path.add(cluster.core(cluster.site(dst)));
    add_down(cluster, src, dst, path);
    return;
  }
  path.add(cluster.core(cluster.site(src)));
  if (cluster.leaf(src) == cluster.leaf(dst)) return;  // turned round in the leaf, or flat
  add_up(cluster, src, dst, path);
  add_down(cluster, src, dst, path);
}

}  // namespace

StoreRequests store_requests(const StoreSpec& store, std::int64_t bytes) {
  StoreRequests requests;
  requests.parts = std::max<std::int64_t>(1, (bytes + store.part_bytes - 1) / store.part_bytes);
  requests.connections =
      static_cast<int>(std::min<std::int64_t>(requests.parts, store.connections));
  requests.turns = (requests.parts + requests.connections - 1) / requests.connections;
  return requests;
}

RouteKind route_kind(const Cluster& cluster, Rank src, Rank dst) {
  if (src == dst) return RouteKind::local;
  if (cluster.domain(src) == cluster.domain(dst)) return RouteKind::nvlink;
  // Without a PCIe rate there is nothing to compute a time from, so the bytes take the NICs.
  if (cluster.node(src) == cluster.node(dst) && cluster.pcie_out(src)) return RouteKind::node;
  return RouteKind::network;
}

Route route(const Cluster& cluster, Rank src, Rank dst) {
  const RouteKind kind = route_kind(cluster, src, dst);
  Path path(cluster, kind);
  switch (kind) {
    case RouteKind::local:
      break;
    case RouteKind::nvlink:
      path.add(cluster.nvlink_out(src));
      path.add(cluster.nvlink_in(dst));
      break;
    case RouteKind::node:
      path.add(cluster.pcie_out(src));
      path.add(cluster.pcie_in(dst));
      break;
    case RouteKind::network:
      path.add(cluster.pcie_out(src));
      path.add(cluster.nic_out(src));
      add_fabric(cluster, src, dst, path);
      path.add(cluster.nic_in(dst));
      path.add(cluster.pcie_in(dst));
      break;
  }
  Route way = path.take();
  if (cluster.site(src) != cluster.site(dst))
    way.flow_bytes_per_s = cluster.wan_flow_bytes_per_s(cluster.site(src), cluster.site(dst));
  return way;
}

}  // namespace refit
