#include "sim/domain_classes.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "sim/detail/cut_parts.h"
#include "sim/detail/demand.h"

namespace refit {
namespace {

std::vector<int> islands_of(const std::vector<Rank>& ranks, const std::vector<int>& island) {
  std::vector<int> islands;
  for (const Rank rank : ranks) islands.push_back(island[rank.index()]);
  std::sort(islands.begin(), islands.end());
  islands.erase(std::unique(islands.begin(), islands.end()), islands.end());
  return islands;
}

// What the narrowest of the borders lets in, per rank behind it.
double narrowest_bytes_per_s(const detail::CutParts& cut) {
  std::vector<int> ranks(cut.parts(), 0);
  for (const int part : cut.of_rank) ++ranks[static_cast<std::size_t>(part)];
  double narrowest = std::numeric_limits<double>::infinity();
  for (std::size_t p = 0; p < cut.parts(); ++p) {
    if (cut.in_bytes_per_s[p]) narrowest = std::min(narrowest, *cut.in_bytes_per_s[p] / ranks[p]);
  }
  return narrowest;
}

// Of leaves and sites those that are harder to enter.
detail::CutParts pod_parts(const Cluster& cluster) {
  detail::CutParts leaves = detail::leaf_parts(cluster);
  if (cluster.sites() < 2) return leaves;
  detail::CutParts sites = detail::site_parts(cluster);
  return narrowest_bytes_per_s(leaves) < narrowest_bytes_per_s(sites) ? leaves : sites;
}

void set_pods(const Cluster& cluster, DomainClasses& result) {
  result.pod.assign(static_cast<std::size_t>(result.islands), -1);
  const detail::CutParts parts = pod_parts(cluster);
  if (parts.parts() < 2) return;
  std::vector<int> pod_of_part(parts.parts(), -1);
  for (std::size_t p = 0; p < parts.parts(); ++p) {
    if (!parts.in_bytes_per_s[p] || !parts.out_bytes_per_s[p]) continue;
    pod_of_part[p] = static_cast<int>(result.pod_in_bytes_per_s.size());
    result.pod_in_bytes_per_s.push_back(*parts.in_bytes_per_s[p]);
    result.pod_out_bytes_per_s.push_back(*parts.out_bytes_per_s[p]);
  }
  for (std::size_t r = 0; r < parts.of_rank.size(); ++r) {
    result.pod[static_cast<std::size_t>(result.of_rank[r])] =
        pod_of_part[static_cast<std::size_t>(parts.of_rank[r])];
  }
}

}  // namespace

DomainClasses domain_classes(const std::vector<Parcel>& parcels, const Cluster& cluster) {
  DomainClasses result;
  const detail::CutParts islands = detail::island_parts(cluster);
  result.islands = static_cast<int>(islands.parts());
  result.of_rank = islands.of_rank;
  for (std::size_t i = 0; i < islands.parts(); ++i) {
    result.in_bytes_per_s.push_back(islands.in_bytes_per_s[i].value_or(0));
    result.out_bytes_per_s.push_back(islands.out_bytes_per_s[i].value_or(0));
  }
  set_pods(cluster, result);

  // Many parcels, few distinct lists of ranks: look at each list once.
  const detail::Demand demand = detail::group_demand(parcels);
  std::vector<std::vector<int>> of_list;
  for (const auto* list : demand.lists) of_list.push_back(islands_of(*list, result.of_rank));
  std::map<std::pair<std::vector<int>, std::vector<int>>, int> numbers;
  std::vector<int> class_of_pair;
  for (const detail::Demand::Pair& pair : demand.pairs) {
    const std::vector<int>& owners = of_list[pair.owners];
    std::vector<int> needers;
    std::set_difference(of_list[pair.demanders].begin(), of_list[pair.demanders].end(),
                        owners.begin(), owners.end(), std::back_inserter(needers));
    const auto [at, is_new] =
        numbers.try_emplace({owners, needers}, static_cast<int>(result.classes.size()));
    if (is_new) result.classes.push_back({owners, needers, 0});
    result.classes[static_cast<std::size_t>(at->second)].bytes += pair.bytes;
    class_of_pair.push_back(at->second);
  }
  for (const std::uint32_t pair : demand.pair_of_parcel)
    result.of_parcel.push_back(class_of_pair[pair]);
  return result;
}

}  // namespace refit
