#pragma once

#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "base/id.h"

namespace refit {

// A list for each rank, all in one vector.
template <class T>
class RankLists {
 public:
  RankLists() = default;

  // `for_each` hands (rank, entry) after (rank, entry) to what it is given, the same each time.
  template <class ForEach>
  RankLists(int ranks, const ForEach& for_each) : first_(static_cast<std::size_t>(ranks) + 1) {
    for_each([&](Rank rank, const T&) { ++first_[rank.index() + 1]; });
    std::partial_sum(first_.begin(), first_.end(), first_.begin());
    entries_.resize(first_.back());
    std::vector<std::size_t> next = first_;
    for_each([&](Rank rank, const T& entry) { entries_[next[rank.index()]++] = entry; });
  }

  std::span<const T> of(Rank rank) const {
    return std::span(entries_).subspan(first_[rank.index()],
                                       first_[rank.index() + 1] - first_[rank.index()]);
  }

 private:
  std::vector<std::size_t> first_;  // ranks + 1 entries
  std::vector<T> entries_;
};

}  // namespace refit
