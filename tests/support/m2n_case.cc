#include "tests/support/m2n_case.h"

#include <algorithm>

#include <fmt/format.h>

namespace refit::test {
namespace {

Layout layout_of(const Side& side, Rank first, const std::vector<std::int64_t>& shape) {
  const std::pair<std::string, int> rep{"rep", side.replicas}, shards{"shard", side.shards};
  const Mesh mesh =
      side.sr ? Mesh::row_major(first, {shards, rep}) : Mesh::row_major(first, {rep, shards});
  std::vector<std::int64_t> with_members{1};
  with_members.insert(with_members.end(), shape.begin(), shape.end());
  const Placement cut = shard(side.dim + 1, side.split);
  return Layout(with_members, mesh,
                side.sr ? std::vector{cut, replicate()} : std::vector{replicate(), cut});
}

std::string name(Rank rank, const M2nCase& c) {
  const int first = c.first_destination();
  return rank.value < first ? fmt::format("S{}", rank.value)
                            : fmt::format("D{}", rank.value - first);
}

template <class Select>
std::vector<std::int64_t> sum(const Schedule& schedule, int first, int count,
                              const Select& select) {
  std::vector<std::int64_t> bytes(static_cast<std::size_t>(count), 0);
  for (const Op& op : schedule.ops) {
    if (op.kind != OpKind::transfer) continue;
    const int at = select(op);
    if (at >= first && at < first + count) bytes[static_cast<std::size_t>(at - first)] += op.bytes;
  }
  return bytes;
}

}  // namespace

Refit make_refit(const M2nCase& c) {
  Refit refit;
  refit.ranks = c.first_destination() + c.destinations();
  refit.stages = 1;
  for (int r = 0; r < refit.ranks; ++r) {
    (r < c.first_destination() ? refit.sources : refit.destinations).push_back(Rank(r));
  }
  refit.classes.push_back({"w",
                           c.dtype,
                           Role::unspecified,
                           false,
                           0,
                           {0},
                           layout_of(c.source, Rank(0), c.shape),
                           layout_of(c.destination, Rank(c.first_destination()), c.shape),
                           1,
                           ""});
  return refit;
}

Cluster cluster_of_domains(const std::vector<int>& domains, double nic, double nvlink) {
  ClusterSpec spec;
  for (const int size : domains) {
    NodeGroupSpec group;
    group.name = "node";
    group.nodes = 1;
    group.gpus_per_node = size;
    group.nvlink_domain_gpus = size;
    group.nvlink_bytes_per_s = nvlink;
    group.nics_per_node = size;
    group.nic_bytes_per_s = nic;
    spec.groups.push_back(group);
  }
  spec.sites = {"here"};
  spec.fabrics.resize(1);
  return Cluster(spec);
}

Cluster make_cluster(const M2nCase& c) {
  std::vector<int> domains{c.first_destination()};
  for (int left = c.destinations(); left > 0; left -= c.domain)
    domains.push_back(std::min(left, c.domain));
  return cluster_of_domains(domains);
}

std::map<std::string, std::int64_t> flows(const Schedule& schedule, const M2nCase& c) {
  std::map<std::string, std::int64_t> bytes;
  for (const Op& op : schedule.ops) {
    if (op.kind == OpKind::transfer) bytes[name(op.src, c) + ">" + name(op.dst, c)] += op.bytes;
  }
  return bytes;
}

std::vector<std::int64_t> network_in(const Schedule& schedule, const Cluster& cluster, int first,
                                     int count) {
  return sum(schedule, first, count, [&](const Op& op) {
    return cluster.domain(op.src) == cluster.domain(op.dst) ? -1 : op.dst.value;
  });
}

std::vector<std::int64_t> nvlink_in(const Schedule& schedule, const Cluster& cluster, int first,
                                    int count) {
  return sum(schedule, first, count, [&](const Op& op) {
    return cluster.domain(op.src) == cluster.domain(op.dst) ? op.dst.value : -1;
  });
}

std::vector<std::int64_t> network_out(const Schedule& schedule, const Cluster& cluster, int first,
                                      int count) {
  return sum(schedule, first, count, [&](const Op& op) {
    return cluster.domain(op.src) == cluster.domain(op.dst) ? -1 : op.src.value;
  });
}

}  // namespace refit::test
