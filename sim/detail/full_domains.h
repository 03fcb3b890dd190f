#pragma once

#include <cstdint>
#include <vector>

#include "sim/detail/demand.h"
#include "sim/domain_classes.h"
#include "topology/cluster.h"

namespace refit::detail {

// Ranks of one island, of a list that is ascending.
struct Side {
  int island = 0;
  std::vector<Rank> owners, takers;  // takers demand it and own none
};

// Content of one class of which the full islands are told rank by rank.
struct Group {
  const DomainClasses::Class* c = nullptr;
  double gigabytes = 0;
  std::vector<Side> sides;  // of full islands only, ascending
  std::int64_t pair = -1;   // of the demand; -1: several, which no full island takes part in
};

// The rates of ranks' ports, and which islands NVLink joins.
class Ports {
 public:
  Ports(const Cluster& cluster, const DomainClasses& view);

  bool is_domain(int island) const { return is_domain_[static_cast<std::size_t>(island)]; }
  const std::vector<Rank>& ranks(int island) const {
    return ranks_[static_cast<std::size_t>(island)];
  }
  double nvlink_in(Rank r) const { return rate(*cluster_.nvlink_in(r)); }
  double nvlink_out(Rank r) const { return rate(*cluster_.nvlink_out(r)); }
  double rate(LinkId link) const { return cluster_.link(link).bandwidth_bytes_per_s; }

 private:
  const Cluster& cluster_;
  std::vector<bool> is_domain_;           // by island: one NVLink domain
  std::vector<std::vector<Rank>> ranks_;  // by island
};

// Islands where some NVLink port would take longer than `seconds`, if all that a rank lacks came in
// by it, or all that only it has in the island and others want left by it.
std::vector<bool> full_islands(const Demand& demand, const DomainClasses& view, const Ports& ports,
                               double seconds);

// Content in which no full island takes part is one group per class. `class_of_pair` is of the
// view.
std::vector<Group> make_groups(const Demand& demand, const DomainClasses& view,
                               const std::vector<int>& class_of_pair,
                               const std::vector<bool>& full);

}  // namespace refit::detail
