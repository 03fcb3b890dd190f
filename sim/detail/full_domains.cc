#include "sim/detail/full_domains.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "sim/detail/flow_rows.h"

namespace refit::detail {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

// The sides of a pair in all islands; `wanted` says which.
template <class Wanted>
std::vector<Side> sides_of(const Demand& demand, const Demand::Pair& pair,
                           const std::vector<int>& island, const Wanted& wanted) {
  std::map<int, Side> sides;
  const std::vector<Rank>& owners = *demand.lists[pair.owners];
  for (const Rank r : owners) {
    if (wanted(island[r.index()])) sides[island[r.index()]].owners.push_back(r);
  }
  for (const Rank r : *demand.lists[pair.demanders]) {
    if (wanted(island[r.index()]) && !std::binary_search(owners.begin(), owners.end(), r))
      sides[island[r.index()]].takers.push_back(r);
  }
  std::vector<Side> result;
  for (auto& [i, side] : sides) {
    side.island = i;
    result.push_back(std::move(side));
  }
  return result;
}

// Bytes of which a rank is the only owner in its island and that somebody else wants. Without
// `exact` those that nobody else wants count, too, which is known list by list.
std::vector<double> owned_alone(const Demand& demand, const DomainClasses& view, bool exact) {
  std::vector<double> bytes(demand.lists.size(), 0);  // by list of owners
  for (const Demand::Pair& pair : demand.pairs) {
    const std::vector<Rank>& owners = *demand.lists[pair.owners];
    const std::vector<Rank>& demanders = *demand.lists[pair.demanders];
    if (exact && std::includes(owners.begin(), owners.end(), demanders.begin(), demanders.end()))
      continue;
    bytes[pair.owners] += pair.bytes;
  }
  std::vector<double> alone(view.of_rank.size(), 0);
  std::vector<int> owners_in(at(view.islands), 0);
  for (std::size_t l = 0; l < bytes.size(); ++l) {
    if (bytes[l] == 0) continue;
    for (const Rank r : *demand.lists[l]) ++owners_in[at(view.of_rank[r.index()])];
    for (const Rank r : *demand.lists[l]) {
      if (owners_in[at(view.of_rank[r.index()])] == 1) alone[r.index()] += bytes[l];
    }
    for (const Rank r : *demand.lists[l]) owners_in[at(view.of_rank[r.index()])] = 0;
  }
  return alone;
}

}  // namespace

Ports::Ports(const Cluster& cluster, const DomainClasses& view) : cluster_(cluster) {
  is_domain_.assign(at(view.islands), true);
  ranks_.resize(at(view.islands));
  for (int r = 0; r < cluster.gpus(); ++r) {
    std::vector<Rank>& ranks = ranks_[at(view.of_rank[at(r)])];
    ranks.push_back(Rank(r));
    if (!cluster.nvlink_in(Rank(r)) || cluster.domain(Rank(r)) != cluster.domain(ranks.front()))
      is_domain_[at(view.of_rank[at(r)])] = false;
  }
}

std::vector<bool> full_islands(const Demand& demand, const DomainClasses& view, const Ports& ports,
                               double seconds) {
  std::vector<int> each(view.of_rank.size());
  std::iota(each.begin(), each.end(), 0);
  const std::vector<double> lacks = detail::border_bytes(demand, each, each.size()).in;
  std::vector<bool> full(at(view.islands), false);
  const auto look = [&](bool exact) {
    const std::vector<double> alone = owned_alone(demand, view, exact);
    full.assign(full.size(), false);
    for (std::size_t r = 0; r < lacks.size(); ++r) {
      const Rank rank(static_cast<int>(r));
      const int i = view.of_rank[r];
      if (ports.is_domain(i) && (lacks[r] > ports.nvlink_in(rank) * seconds ||
                                 alone[r] > ports.nvlink_out(rank) * seconds))
        full[at(i)] = true;
    }
    return std::find(full.begin(), full.end(), true) != full.end();
  };
  if (look(false)) look(true);
  return full;
}

std::vector<Group> make_groups(const Demand& demand, const DomainClasses& view,
                               const std::vector<int>& class_of_pair,
                               const std::vector<bool>& full) {
  std::vector<Group> groups;
  std::map<int, std::size_t> of_class;
  for (std::size_t p = 0; p < demand.pairs.size(); ++p) {
    const Demand::Pair& pair = demand.pairs[p];
    std::vector<Side> sides =
        sides_of(demand, pair, view.of_rank, [&](int i) { return full[at(i)]; });
    const auto* c = &view.classes[at(class_of_pair[p])];
    const double gigabytes = pair.bytes * kGigabytes;
    const bool taken = std::any_of(sides.begin(), sides.end(),
                                   [](const Side& side) { return !side.takers.empty(); });
    if (taken || (!sides.empty() && !c->needers.empty())) {
      groups.push_back({c, gigabytes, std::move(sides), static_cast<std::int64_t>(p)});
      continue;
    }
    if (c->needers.empty()) continue;
    const auto [found, is_new] = of_class.try_emplace(class_of_pair[p], groups.size());
    if (is_new) groups.push_back({c, 0, {}, -1});
    groups[found->second].gigabytes += gigabytes;
  }
  return groups;
}

}  // namespace refit::detail
