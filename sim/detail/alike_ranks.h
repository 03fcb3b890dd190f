#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schedule/schedule.h"

namespace refit::detail {

// Ranks that do the same in every op of a schedule: none of them is an end of a transfer or the
// root of a broadcast, and they are in the same groups. Their lanes hold the same ops, so that one
// of them stands for all: a broadcast to thousands of engines orders as many ops as one to a few.
class AlikeRanks {
 public:
  explicit AlikeRanks(const Schedule& schedule);

  // The group's ranks in its order, of alike ones the first only, by the rank that stands for them.
  std::span<const Rank> of(GroupId group) const { return of_group_[group.index()]; }
  Rank first_like(Rank rank) const { return Rank(first_[rank.index()]); }

 private:
  std::vector<std::int32_t> first_;          // [rank]: the smallest that is alike
  std::vector<std::vector<Rank>> of_group_;  // [group]
};

}  // namespace refit::detail
