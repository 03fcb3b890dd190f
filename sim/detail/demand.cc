#include "sim/detail/demand.h"

#include <algorithm>
#include <unordered_map>

#include "base/check.h"

namespace refit::detail {
namespace {

std::uint64_t hash_of(const std::vector<Rank>& ranks) {
  std::uint64_t hash = ranks.size();
  for (const Rank rank : ranks) {
    hash = (hash ^ static_cast<std::uint64_t>(rank.index())) * 0x9e3779b97f4a7c15U;
    hash ^= hash >> 29;
  }
  return hash;
}

// Numbers equal lists alike.
class ListTable {
 public:
  explicit ListTable(std::vector<const std::vector<Rank>*>& lists) : lists_(lists) {}

  std::uint32_t of(const std::vector<Rank>& ranks) {
    std::vector<std::uint32_t>& same_hash = by_hash_[hash_of(ranks)];
    for (const std::uint32_t id : same_hash) {
      if (*lists_[id] == ranks) return id;
    }
    const auto id = static_cast<std::uint32_t>(lists_.size());
    same_hash.push_back(id);
    lists_.push_back(&ranks);
    return id;
  }

 private:
  std::vector<const std::vector<Rank>*>& lists_;
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> by_hash_;
};

using Parts = std::vector<int>;  // ascending, each once

std::vector<Parts> parts_of_lists(const Demand& demand, const std::vector<int>& part_of_rank) {
  std::vector<Parts> parts(demand.lists.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    for (const Rank rank : *demand.lists[i]) {
      REFIT_CHECK(rank.index() < part_of_rank.size());
      const int part = part_of_rank[rank.index()];
      if (parts[i].empty() || parts[i].back() != part) parts[i].push_back(part);
    }
    std::sort(parts[i].begin(), parts[i].end());
    parts[i].erase(std::unique(parts[i].begin(), parts[i].end()), parts[i].end());
  }
  return parts;
}

std::size_t at(int part) { return static_cast<std::size_t>(part); }

}  // namespace

Demand group_demand(const std::vector<Parcel>& parcels) {
  Demand demand;
  ListTable lists(demand.lists);
  std::unordered_map<std::uint64_t, std::size_t> place;
  for (const Parcel& parcel : parcels) {
    const std::uint32_t owners = lists.of(parcel.owners);
    const std::uint32_t demanders = lists.of(parcel.demanders);
    const std::uint64_t key = (static_cast<std::uint64_t>(owners) << 32) | demanders;
    const auto [found, first] = place.try_emplace(key, demand.pairs.size());
    if (first) demand.pairs.push_back({owners, demanders, 0});
    demand.pair_of_parcel.push_back(static_cast<std::uint32_t>(found->second));
    demand.pairs[found->second].bytes += static_cast<double>(wire_bytes(parcel));
  }
  return demand;
}

BorderBytes border_bytes(const Demand& demand, const std::vector<int>& part_of_rank,
                         std::size_t parts) {
  const std::vector<Parts> touched = parts_of_lists(demand, part_of_rank);
  BorderBytes border{std::vector<double>(parts, 0), std::vector<double>(parts, 0)};

  // Everything demanded comes in, but for what its part owns; sums of integers, so exact.
  std::vector<double> demanded(demand.lists.size(), 0);
  for (const Demand::Pair& pair : demand.pairs) {
    demanded[pair.demanders] += pair.bytes;
    const Parts& owners = touched[pair.owners];
    const Parts& demanders = touched[pair.demanders];
    for (const int part : owners) {
      const bool both = std::binary_search(demanders.begin(), demanders.end(), part);
      if (both) border.in[at(part)] -= pair.bytes;
    }
    if (owners.size() != 1 || demanders.empty()) continue;
    const bool elsewhere = demanders.size() > 1 || demanders.front() != owners.front();
    if (elsewhere) border.out[at(owners.front())] += pair.bytes;
  }
  for (std::size_t i = 0; i < demanded.size(); ++i) {
    if (demanded[i] == 0) continue;
    for (const int part : touched[i]) border.in[at(part)] += demanded[i];
  }
  return border;
}

LeavingBytes leaving_bytes(const Demand& demand, const std::vector<int>& part_of_rank,
                           std::size_t parts) {
  const std::vector<Parts> touched = parts_of_lists(demand, part_of_rank);
  LeavingBytes leaving{0, std::vector<bool>(parts, false)};
  for (const Demand::Pair& pair : demand.pairs) {
    const Parts& owners = touched[pair.owners];
    const Parts& demanders = touched[pair.demanders];
    if (std::includes(owners.begin(), owners.end(), demanders.begin(), demanders.end())) continue;
    leaving.bytes += pair.bytes;
    for (const int part : owners) leaving.owns[at(part)] = true;
  }
  return leaving;
}

}  // namespace refit::detail
