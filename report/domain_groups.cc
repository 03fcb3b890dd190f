#include "report/domain_groups.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/check.h"
#include "report/drawing.h"

namespace refit {

std::string Side::words() const {
  if (store != nullptr) return "object store " + store->name;
  if (source && destination) return "source and destination";
  return source ? "source" : destination ? "destination" : "relay or idle";
}

const char* Side::colour() const {
  if (source && destination) return kBothColour;
  return source ? kSourceColour : destination ? kDestinationColour : kNeitherColour;
}

Sides::Sides(const Refit& refit, const Cluster& cluster)
    : of_rank_(static_cast<std::size_t>(refit.ranks)) {
  for (const Rank rank : refit.sources) of_rank_[rank.index()].source = true;
  for (const Rank rank : refit.destinations) of_rank_[rank.index()].destination = true;
  for (int rank = cluster.gpus(); rank < refit.ranks; ++rank)
    of_rank_[Rank{rank}.index()].store = cluster.store(Rank{rank});
}

Side Sides::of(std::span<const Rank> ranks) const {
  Side side;
  for (const Rank rank : ranks) {
    if (!knows(rank)) continue;
    side.source = side.source || of(rank).source;
    side.destination = side.destination || of(rank).destination;
    side.store = of(rank).store;  // a store is alone in its domain
  }
  return side;
}

std::string DomainGroup::name() const {
  if (side.store != nullptr) return side.words();
  return domains == 1 ? fmt::format("domain {}", first)
                      : fmt::format("domains {}-{}", first, first + domains - 1);
}

std::string DomainGroup::words() const {
  if (side.store != nullptr) return name();
  return fmt::format("{}: {}, {} GPU{}", name(), side.words(), gpus, gpus == 1 ? "" : "s");
}

std::vector<GroupTraffic::Pair> GroupTraffic::pairs() const {
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const std::size_t from = i / groups.size(), to = i % groups.size();
    if (from != to && bytes[i] > 0) pairs.push_back({from, to, bytes[i]});
  }
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const Pair& a, const Pair& b) { return a.bytes > b.bytes; });
  return pairs;
}

double GroupTraffic::largest() const {
  return bytes.empty() ? 0 : *std::max_element(bytes.begin(), bytes.end());
}

GroupTraffic group_traffic(const Refit& refit, const Cluster& cluster,
                           const std::vector<double>& domain_bytes, int most_domains) {
  const auto count = static_cast<std::size_t>(cluster.domains());
  REFIT_CHECK(domain_bytes.size() == count * count && refit.ranks <= cluster.ranks());
  const Sides sides(refit, cluster);
  std::set<DomainId> domains;
  for (int rank = 0; rank < refit.ranks; ++rank) domains.insert(cluster.domain(Rank{rank}));

  GroupTraffic traffic;
  traffic.most_domains = most_domains;
  std::vector<std::size_t> group_of(count);
  for (const DomainId domain : domains) {
    const std::span<const Rank> ranks = cluster.domain_ranks(domain);
    const Side side = sides.of(ranks);
    const auto joins = [&](const DomainGroup& group) {
      const std::span<const Rank> first = cluster.domain_ranks(DomainId{group.first});
      return group.domains < most_domains && group.first + group.domains == domain.value &&
             group.side == side && first.size() == ranks.size() &&
             cluster.site(first.front()) == cluster.site(ranks.front());
    };
    if (traffic.groups.empty() || !joins(traffic.groups.back()))
      traffic.groups.push_back({domain.value, 0, 0, side});
    ++traffic.groups.back().domains;
    traffic.groups.back().gpus += static_cast<int>(ranks.size());
    group_of[domain.index()] = traffic.groups.size() - 1;
  }
  traffic.bytes.assign(traffic.groups.size() * traffic.groups.size(), 0);
  traffic.nvlink.assign(traffic.groups.size(), 0);
  for (std::size_t i = 0; i < domain_bytes.size(); ++i) {
    if (domain_bytes[i] <= 0) continue;
    const std::size_t from = group_of[i / count], to = group_of[i % count];
    (i / count == i % count ? traffic.nvlink[from]
                            : traffic.bytes[from * traffic.groups.size() + to]) += domain_bytes[i];
  }
  return traffic;
}

std::string group_words(const GroupTraffic& traffic) {
  int most = 0;
  for (const DomainGroup& group : traffic.groups) most = std::max(most, group.domains);
  if (most <= 1) return {};
  return fmt::format("Drawn as one: up to {} neighbouring NVLink domains of one kind.", most);
}

}  // namespace refit
