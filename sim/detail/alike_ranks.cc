#include "sim/detail/alike_ranks.h"

#include <cstddef>
#include <unordered_map>

namespace refit::detail {

AlikeRanks::AlikeRanks(const Schedule& schedule)
    : first_(static_cast<std::size_t>(schedule.ranks)) {
  std::vector<bool> alone(first_.size(), false);
  for (const Op& op : schedule.ops) {
    const bool transfer = op.kind == OpKind::transfer;
    if (transfer || op.kind == OpKind::broadcast) alone[op.src.index()] = true;
    if (transfer) alone[op.dst.index()] = true;
  }
  // The others are one class at first; each group then parts its members from the rest.
  std::vector<std::int64_t> of_rank(first_.size(), 0);
  std::int64_t classes = 1;
  for (std::size_t r = 0; r < of_rank.size(); ++r) {
    if (alone[r]) of_rank[r] = classes++;
  }
  std::unordered_map<std::int64_t, std::int64_t> inside;
  for (const Group& group : schedule.groups) {
    inside.clear();
    for (const Rank rank : group.ranks) {
      if (alone[rank.index()]) continue;
      std::int64_t& of = of_rank[rank.index()];
      const auto [found, is_new] = inside.try_emplace(of, classes);
      if (is_new) ++classes;
      of = found->second;
    }
  }
  std::vector<std::int32_t> first_of(static_cast<std::size_t>(classes), -1);
  for (std::size_t r = 0; r < first_.size(); ++r) {
    std::int32_t& first = first_of[static_cast<std::size_t>(of_rank[r])];
    if (first < 0) first = static_cast<std::int32_t>(r);
    first_[r] = first;
  }
  std::vector<std::size_t> seen_in(first_.size(), schedule.groups.size());
  for (std::size_t g = 0; g < schedule.groups.size(); ++g) {
    std::vector<Rank>& ranks = of_group_.emplace_back();
    for (const Rank rank : schedule.groups[g].ranks) {
      const Rank first = first_like(rank);
      if (seen_in[first.index()] == g) continue;
      seen_in[first.index()] = g;
      ranks.push_back(first);
    }
  }
}

}  // namespace refit::detail
