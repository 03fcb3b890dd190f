#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "base/id.h"

namespace refit::detail {

// The sets of ranks that parcels name, each once: they are far fewer than parcels. Who asks for one
// parcel of a cargo after the other asks the same of the same set, so that the last answer is kept.
class RankSets {
 public:
  // `ranks`: ascending. Returns the number of the set.
  std::size_t add(const std::vector<Rank>& ranks) {
    const auto [known, is_new] = number_.try_emplace(ranks, sets_.size());
    if (is_new) sets_.push_back({&known->first, Rank{-1}, std::nullopt});
    return known->second;
  }

  std::size_t count() const { return sets_.size(); }
  const std::vector<Rank>& ranks(std::size_t set) const { return *sets_[set].ranks; }

  // Which of the set's ranks it is; nothing: none.
  std::optional<std::size_t> place(std::size_t number, Rank rank) {
    Set& set = sets_[number];
    if (set.asked != rank) {
      const auto at = std::lower_bound(set.ranks->begin(), set.ranks->end(), rank);
      set.asked = rank;
      set.answer.reset();
      if (at != set.ranks->end() && *at == rank)
        set.answer = static_cast<std::size_t>(at - set.ranks->begin());
    }
    return set.answer;
  }

 private:
  struct Set {
    const std::vector<Rank>* ranks;
    Rank asked;
    std::optional<std::size_t> answer;
  };

  std::map<std::vector<Rank>, std::size_t> number_;
  std::vector<Set> sets_;
};

}  // namespace refit::detail
