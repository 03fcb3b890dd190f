#include "sim/detail/path_builder.h"

#include <algorithm>

namespace refit::detail {
namespace {

// Smaller shares are rounding of shares that cancel.
constexpr double kLeastWeight = 1e-12;

}  // namespace

std::vector<DomainMembers> by_domain(const Cluster& cluster, std::span<const Rank> ranks) {
  std::vector<DomainMembers> domains;
  std::map<DomainId, std::size_t> place;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const DomainId domain = cluster.domain(ranks[i]);
    const auto [found, first] = place.try_emplace(domain, domains.size());
    if (first) domains.push_back({domain, {}, {}});
    domains[found->second].columns.push_back(i);
    domains[found->second].ranks.push_back(ranks[i]);
  }
  return domains;
}

PathBuilder::PathBuilder(const Cluster& cluster) : cluster_(cluster) {}

void PathBuilder::add_route(Rank src, Rank dst, double weight) {
  if (weight < kLeastWeight) return;
  const Route way = route(cluster_, src, dst);
  for (const LinkId link : way.links) add_link(link, weight);
  if (way.flow_bytes_per_s > 0) {
    const double most = way.flow_bytes_per_s / weight;
    double& flow = path_.flow_bytes_per_s;
    flow = flow > 0 ? std::min(flow, most) : most;
  }
  switch (way.kind) {
    case RouteKind::local:
      return;
    case RouteKind::nvlink:
      path_.nvlink += weight;
      break;
    case RouteKind::node:
      path_.node += weight;
      break;
    case RouteKind::network:
      path_.network += weight;
      break;
  }
  add_between(cluster_.domain(src), cluster_.domain(dst), weight);
}

void PathBuilder::add_domain_hop(const DomainMembers& from, const DomainMembers& to,
                                 double weight) {
  add_ring_hop(from.ranks, to.ranks, weight);
}

void PathBuilder::add_ring_hop(const std::vector<Rank>& from, const std::vector<Rank>& to,
                               double weight) {
  const std::size_t pairs = std::max(from.size(), to.size());
  for (std::size_t i = 0; i < pairs; ++i)
    add_route(from[i % from.size()], to[i % to.size()], weight / static_cast<double>(pairs));
}

void PathBuilder::add_inside(const DomainMembers& members, std::span<const double> weight_in) {
  if (members.ranks.size() < 2) return;
  double total = 0;
  for (std::size_t i = 0; i < members.ranks.size(); ++i) {
    if (weight_in[i] < kLeastWeight) continue;
    total += weight_in[i];
    add_link(cluster_.nvlink_in(members.ranks[i]).value(), weight_in[i]);
  }
  if (total < kLeastWeight) return;
  const double weight_out = total / static_cast<double>(members.ranks.size());
  for (const Rank rank : members.ranks) add_link(cluster_.nvlink_out(rank).value(), weight_out);
  path_.nvlink += total;
  add_between(members.domain, members.domain, total);
}

double PathBuilder::hop_latency(const DomainMembers& from, const DomainMembers& to) const {
  return route(cluster_, from.ranks.front(), to.ranks.front()).latency_s;
}

double PathBuilder::inside_latency(const DomainMembers& members) const {
  if (members.ranks.size() < 2) return 0;
  return route(cluster_, members.ranks[0], members.ranks[1]).latency_s;
}

CollectivePath PathBuilder::finish(double latency_s) && {
  path_.latency_s = latency_s;
  return std::move(path_);
}

void PathBuilder::add_link(LinkId link, double weight) {
  const auto [found, first] = place_of_link_.try_emplace(link, path_.links.size());
  if (first) path_.links.push_back({link, 0});
  path_.links[found->second].weight += weight;
}

void PathBuilder::add_between(DomainId from, DomainId to, double weight) {
  const auto [found, first] = place_of_pair_.try_emplace({from, to}, path_.between.size());
  if (first) path_.between.push_back({from, to, 0});
  path_.between[found->second].weight += weight;
}

}  // namespace refit::detail
