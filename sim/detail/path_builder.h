#pragma once

#include <map>
#include <span>
#include <utility>
#include <vector>

#include "sim/detail/collective_path.h"

namespace refit::detail {

// The ranks of one NVLink domain that take part in a collective.
struct DomainMembers {
  DomainId domain;
  std::vector<std::size_t> columns;  // indices into the collective's rank list
  std::vector<Rank> ranks;
};

// In order of first appearance.
std::vector<DomainMembers> by_domain(const Cluster& cluster, std::span<const Rank> ranks);

// Sums the links of a collective, edge by edge.
class PathBuilder {
 public:
  explicit PathBuilder(const Cluster& cluster);

  // One edge of the ring or chain.
  void add_route(Rank src, Rank dst, double weight);
  // `weight` between two domains, over pairs of members.
  void add_ring_hop(const std::vector<Rank>& from, const std::vector<Rank>& to, double weight);
  // `weight` between two domains, over pairs of members so that all NICs of both sides take part.
  void add_domain_hop(const DomainMembers& from, const DomainMembers& to, double weight);
  // Inside a domain: what each member takes in; all members send alike.
  void add_inside(const DomainMembers& members, std::span<const double> weight_in);

  double hop_latency(const DomainMembers& from, const DomainMembers& to) const;
  // One NVLink hop of the ring through the members.
  double inside_latency(const DomainMembers& members) const;

  CollectivePath finish(double latency_s) &&;

 private:
  void add_link(LinkId link, double weight);
  void add_between(DomainId from, DomainId to, double weight);

  const Cluster& cluster_;
  CollectivePath path_;
  std::map<LinkId, std::size_t> place_of_link_;
  std::map<std::pair<DomainId, DomainId>, std::size_t> place_of_pair_;
};

}  // namespace refit::detail
