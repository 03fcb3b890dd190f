#include "sim/traffic.h"

#include "base/check.h"
#include "sim/detail/collective_path.h"
#include "topology/route.h"

namespace refit {
namespace {

// Adds what one op moves; `paths` is the simulator's own idea of a collective.
void add_op(const Op& op, const Cluster& cluster, detail::CollectivePaths& paths,
            TrafficTotals& totals) {
  const auto bytes = static_cast<double>(op.bytes);
  if (op.kind == OpKind::transfer) {
    switch (route_kind(cluster, op.src, op.dst)) {
      case RouteKind::local:
        totals.local_bytes += bytes;
        break;
      case RouteKind::nvlink:
        totals.nvlink_bytes += bytes;
        break;
      case RouteKind::node:
        totals.node_bytes += bytes;
        break;
      case RouteKind::network:
        totals.network_bytes += bytes;
        break;
    }
  } else if (is_collective(op)) {
    const detail::CollectivePath& path = paths.of(op);
    totals.network_bytes += path.network * bytes;
    totals.nvlink_bytes += path.nvlink * bytes;
    totals.node_bytes += path.node * bytes;
  }
}

double parcel_bytes(const Schedule& schedule) {
  double sum = 0;
  for (const Parcel& parcel : schedule.parcels) sum += static_cast<double>(wire_bytes(parcel));
  return sum;
}

}  // namespace

TrafficTotals traffic_totals(const Schedule& schedule, const Cluster& cluster) {
  TrafficTotals totals;
  for (const Phase& phase : schedule.phases) totals.logical_bytes += phase.logical_bytes;
  detail::CollectivePaths paths(schedule, cluster);
  for (const Op& op : schedule.ops) add_op(op, cluster, paths, totals);
  const double content = parcel_bytes(schedule);
  if (content > 0) totals.copies = totals.network_bytes / content;
  return totals;
}

std::vector<TrafficTotals> phase_traffic(const Schedule& schedule, const Cluster& cluster) {
  std::vector<TrafficTotals> phases(schedule.phases.size());
  detail::CollectivePaths paths(schedule, cluster);
  for (const Op& op : schedule.ops) {
    REFIT_CHECK(op.phase < phases.size());
    add_op(op, cluster, paths, phases[op.phase]);
  }
  const double content = parcel_bytes(schedule);
  for (std::size_t p = 0; p < phases.size(); ++p) {
    phases[p].logical_bytes = schedule.phases[p].logical_bytes;
    if (content > 0) phases[p].copies = phases[p].network_bytes / content;
  }
  return phases;
}

std::vector<double> domain_traffic(const Schedule& schedule, const Cluster& cluster) {
  const auto domains = static_cast<std::size_t>(cluster.domains());
  std::vector<double> matrix(domains * domains, 0);
  const auto add = [&](DomainId from, DomainId to, double bytes) {
    matrix[from.index() * domains + to.index()] += bytes;
  };
  detail::CollectivePaths paths(schedule, cluster);
  for (const Op& op : schedule.ops) {
    const auto bytes = static_cast<double>(op.bytes);
    if (op.kind == OpKind::transfer) {
      if (op.src != op.dst) add(cluster.domain(op.src), cluster.domain(op.dst), bytes);
    } else if (is_collective(op)) {
      for (const detail::DomainShare& share : paths.of(op).between) {
        add(share.from, share.to, share.weight * bytes);
      }
    }
  }
  return matrix;
}

}  // namespace refit
