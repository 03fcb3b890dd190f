#include "planner/replica_choice.h"

#include <algorithm>
#include <map>
#include <span>

#include "base/check.h"

namespace refit {
namespace {

// The demanders of one domain that lack the parcel, in rank order: its local replicas.
struct Stop {
  DomainId domain;
  std::span<const Rank> replicas;
};

// Of ascending ranks, which must outlive the stops. A domain is a range of ranks, so its ranks are
// neighbours in the list.
std::vector<Stop> stops_of(std::span<const Rank> ranks, const Cluster& cluster) {
  std::vector<Stop> stops;
  while (!ranks.empty()) {
    const DomainId domain = cluster.domain(ranks.front());
    std::size_t count = 1;
    while (count < ranks.size() && cluster.domain(ranks[count]) == domain) ++count;
    stops.push_back({domain, ranks.first(count)});
    ranks = ranks.subspan(count);
  }
  return stops;
}

// Those of ascending ranks that are in a domain.
std::span<const Rank> ranks_in(const std::vector<Rank>& ranks, DomainId domain,
                               const Cluster& cluster) {
  const auto first = std::lower_bound(ranks.begin(), ranks.end(), domain,
                                      [&](Rank r, DomainId d) { return cluster.domain(r) < d; });
  const auto last =
      std::find_if(first, ranks.end(), [&](Rank r) { return cluster.domain(r) != domain; });
  return {first, last};
}

// With k source shards over L replicas, the first k mod L replicas take one source more than the
// rest.
int leader_slot(SourcePosition source, int replicas) {
  const int each = source.count / replicas;
  const int more = source.count % replicas;
  if (source.position < more * (each + 1)) return source.position / (each + 1);
  return more + (source.position - more * (each + 1)) / std::max(each, 1);
}

void add_fanout(const Stop& stop, Rank leader, int depth, Way& way) {
  for (const Rank follower : stop.replicas) {
    if (follower != leader) way.fanout.push_back({depth, leader, follower});
  }
}

// One chain: the owner injects into the first stop, each stop's leader relays to the next.
void add_chain(Rank owner, const std::vector<Stop>& stops, SourcePosition source, Way& way) {
  Rank from = owner;
  int slot = -1;
  for (std::size_t h = 0; h < stops.size(); ++h) {
    const int replicas = static_cast<int>(stops[h].replicas.size());
    // A slot that a domain lacks falls on its last replica and stays there further down the chain.
    slot = h == 0 ? leader_slot(source, replicas) : std::min(slot, replicas - 1);
    const Rank leader = stops[h].replicas[static_cast<std::size_t>(slot)];
    way.network.push_back({static_cast<int>(h), from, leader});
    add_fanout(stops[h], leader, static_cast<int>(h) + 1, way);
    from = leader;
  }
}

}  // namespace

std::vector<SourcePosition> source_positions(const std::vector<Parcel>& parcels) {
  const auto key = [](const Parcel* parcel) {
    return std::tuple<int, int, std::size_t, const std::vector<Rank>&>(
        parcel->stage, parcel->group, parcel->owners.size(), parcel->demanders);
  };
  const auto before = [&](const Parcel* a, const Parcel* b) { return key(a) < key(b); };
  std::map<const Parcel*, int, decltype(before)> count(before);  // by the first with equal keys
  std::vector<SourcePosition> positions;
  std::vector<const int*> counts;  // map nodes stay where they are
  for (const Parcel& parcel : parcels) {
    int& so_far = count[&parcel];
    positions.push_back({so_far++, 0});
    counts.push_back(&so_far);
  }
  for (std::size_t p = 0; p < parcels.size(); ++p) positions[p].count = *counts[p];
  return positions;
}

int balanced_owner(int owners, int takers, int taker, ReplicaBalance balance) {
  REFIT_CHECK(0 <= taker && taker < takers);
  if (owners >= takers) {
    // node_aware: the first owners, one each. uniform: owners in equal groups, the first of each
    // sends.
    return balance == ReplicaBalance::node_aware
               ? taker
               : static_cast<int>(std::int64_t{taker} * owners / takers);
  }
  // Contiguous ranges of takers, the remainder to the first owners.
  const int each = takers / owners;
  const int more = takers % owners;
  if (taker < more * (each + 1)) return taker / (each + 1);
  return more + (taker - more * (each + 1)) / each;
}

Way choose_way(const Parcel& parcel, SourcePosition source, const Cluster& cluster,
               const PlanOptions& options) {
  Way way;
  std::vector<Rank> outside;  // demanders with no owner in their domain, in replica order
  for (const Stop& stop : stops_of(parcel.demanders, cluster)) {
    const std::span<const Rank> owners_here = ranks_in(parcel.owners, stop.domain, cluster);
    if (owners_here.empty()) {
      outside.insert(outside.end(), stop.replicas.begin(), stop.replicas.end());
      continue;
    }
    int turn = source.position;
    for (const Rank demander : stop.replicas) {
      if (std::binary_search(owners_here.begin(), owners_here.end(), demander)) continue;
      way.fanout.push_back(
          {0, owners_here[static_cast<std::size_t>(turn++) % owners_here.size()], demander});
    }
  }
  if (outside.empty()) return way;
  std::sort(outside.begin(), outside.end());

  const int owners = static_cast<int>(parcel.owners.size());
  if (options.balance == ReplicaBalance::uniform) {
    // Each owner has a range of destination replicas and its own chain over their domains.
    std::map<int, std::vector<Rank>> range_of;
    for (std::size_t r = 0; r < outside.size(); ++r) {
      range_of[balanced_owner(owners, static_cast<int>(outside.size()), static_cast<int>(r),
                              options.balance)]
          .push_back(outside[r]);
    }
    for (const auto& [owner, ranks] : range_of) {
      add_chain(parcel.owners[static_cast<std::size_t>(owner)], stops_of(ranks, cluster), source,
                way);
    }
    return way;
  }

  // Domains are counted from the first to the last, holes included, as the reference counts them.
  const std::vector<Stop> stops = stops_of(outside, cluster);
  const int first = stops.front().domain.value;
  const int domains = stops.back().domain.value - first + 1;
  std::map<int, std::vector<Stop>> chain_of;  // chain number -> its stops
  for (const Stop& stop : stops) {
    const int offset = stop.domain.value - first;
    const int chain = options.injected_domains > 0
                          ? offset % options.injected_domains
                          : balanced_owner(owners, domains, offset, options.balance);
    chain_of[chain].push_back(stop);
  }
  int turn = 0;
  for (const auto& [chain, its_stops] : chain_of) {
    // Strided chains take the owners in turn; otherwise the chain is the owner's range.
    const int owner = options.injected_domains > 0 ? turn++ % owners : chain;
    add_chain(parcel.owners[static_cast<std::size_t>(owner)], its_stops, source, way);
  }
  return way;
}

}  // namespace refit
