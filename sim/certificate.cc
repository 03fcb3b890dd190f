#include "sim/certificate.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>

#include "schedule/plan_hash.h"
#include "sim/domain_classes.h"
#include "topology/route.h"

namespace refit {
namespace {

constexpr double kRelaysMatter = 1.001;

// Ranks between which every latency of the network occurs. Latencies belong to the kind of node
// and to whether trunks are crossed: of each kind the first rank, the first that it reaches through
// NICs, and the first of these under another leaf.
std::vector<Rank> samples(const std::vector<Parcel>& parcels, const Cluster& cluster) {
  std::vector<bool> takes_part(static_cast<std::size_t>(cluster.gpus()), false);
  for (const Parcel& parcel : parcels) {
    for (const Rank rank : parcel.owners) takes_part[rank.index()] = true;
    for (const Rank rank : parcel.demanders) takes_part[rank.index()] = true;
  }
  struct Kind {
    std::optional<Rank> first, same_leaf, other_leaf;
  };
  std::map<const NodeGroupSpec*, Kind> kinds;
  std::vector<Rank> samples;
  for (int r = 0; r < cluster.gpus(); ++r) {
    const Rank rank(r);
    if (!takes_part[rank.index()]) continue;
    Kind& kind = kinds[&cluster.group(rank)];
    std::optional<Rank>* place = nullptr;
    if (!kind.first) {
      place = &kind.first;
    } else if (route_kind(cluster, *kind.first, rank) == RouteKind::network) {
      const bool same_leaf = cluster.leaf(*kind.first) == cluster.leaf(rank);
      place = same_leaf ? &kind.same_leaf : &kind.other_leaf;
    }
    if (place == nullptr || place->has_value()) continue;
    *place = rank;
    samples.push_back(rank);
  }
  return samples;
}

// The first copy reaches its islands by doubling: after n more sends 2^n have it.
int levels_of(const FlowBound& bound, const DomainClasses& view) {
  if (bound.no_relay_seconds <= kRelaysMatter * bound.seconds) return 1;
  std::size_t most = 1;
  for (const DomainClasses::Class& c : view.classes) most = std::max(most, c.needers.size());
  return 1 + static_cast<int>(std::bit_width(most - 1));  // 1 + ceil(log2(most))
}

double nic_bytes_per_s(const Cluster& cluster, const Op& transfer) {
  return std::min(cluster.link(cluster.nic_out(transfer.src)).bandwidth_bytes_per_s,
                  cluster.link(cluster.nic_in(transfer.dst)).bandwidth_bytes_per_s);
}

void add_pipeline(const Schedule& schedule, const Cluster& cluster, Certificate& certificate) {
  // By op: transfers over the network in the longest chain of ops that ends with it.
  std::vector<int> chain(schedule.ops.size(), 0);
  int longest = 1;
  double slowest = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < schedule.ops.size(); ++i) {
    const Op& op = schedule.ops[i];
    for (const OpId earlier : schedule.after_of(op))
      chain[i] = std::max(chain[i], chain[earlier.index()]);
    if (op.kind != OpKind::transfer) continue;
    if (route_kind(cluster, op.src, op.dst) != RouteKind::network) continue;
    longest = std::max(longest, ++chain[i]);
    certificate.chunk_bytes = std::max(certificate.chunk_bytes, op.bytes);
    slowest = std::min(slowest, nic_bytes_per_s(cluster, op));
  }
  certificate.relay_depth = longest - 1;
  certificate.fill_s =
      certificate.relay_depth * static_cast<double>(certificate.chunk_bytes) / slowest;
}

}  // namespace

double largest_latency(const std::vector<Parcel>& parcels, const Cluster& cluster) {
  const std::vector<Rank> ranks = samples(parcels, cluster);
  double most = 0;
  for (const Rank a : ranks) {
    for (const Rank b : ranks) {
      if (cluster.site(a) != cluster.site(b) && !cluster.wan(cluster.site(a), cluster.site(b)))
        continue;  // nothing can be sent there
      if (route_kind(cluster, a, b) != RouteKind::network) continue;
      most = std::max(most, route(cluster, a, b).latency_s);
    }
  }
  return most;
}

RefitBound bound_of_refit(const std::vector<Parcel>& parcels, const Cluster& cluster) {
  const DomainClasses view = domain_classes(parcels, cluster);
  RefitBound bound;
  bound.flow = flow_bound(parcels, cluster, view);
  bound.latency_s = largest_latency(parcels, cluster);
  bound.levels = levels_of(bound.flow, view);
  return bound;
}

Certificate certify(const Schedule& schedule, const Cluster& cluster, const RefitBound& bound,
                    double wire_s) {
  Certificate certificate;
  // In gathers, broadcasts and stores ranks pass on what they neither own nor want; there only the
  // cuts hold.
  const auto passes_on = [&](const Op& op) {
    return is_collective(op) || (op.kind == OpKind::transfer && cluster.store(op.src) != nullptr);
  };
  if (std::any_of(schedule.ops.begin(), schedule.ops.end(), passes_on)) {
    certificate.bound_s = bound.flow.cuts.seconds;
    certificate.bound_by = bound.flow.cuts.binding.name;
  } else {
    certificate.bound_s = bound.flow.seconds;
    certificate.bound_by = bound.flow.binding;
    certificate.no_relay_bound_s = bound.flow.no_relay_seconds;
  }
  certificate.wire_s = wire_s;
  certificate.latency_s = bound.latency_s;
  certificate.levels = bound.levels;
  add_pipeline(schedule, cluster, certificate);
  certificate.plan = plan_hash(schedule);
  return certificate;
}

}  // namespace refit
