#pragma once

#include <cstddef>
#include <map>
#include <numeric>
#include <vector>

namespace refit::detail {

// Things that are joined, directly or over others.
class DisjointSets {
 public:
  explicit DisjointSets(std::size_t things) : up_(things) { std::iota(up_.begin(), up_.end(), 0u); }

  void join(std::size_t a, std::size_t b) { up_[root(a)] = root(b); }
  bool joined(std::size_t a, std::size_t b) { return root(a) == root(b); }

  // Of each thing the number of its set, counted from 0 in the order they are met.
  std::vector<int> numbers() {
    std::map<std::size_t, int> seen;
    std::vector<int> result;
    for (std::size_t i = 0; i < up_.size(); ++i)
      result.push_back(seen.try_emplace(root(i), static_cast<int>(seen.size())).first->second);
    return result;
  }

 private:
  std::size_t root(std::size_t i) {
    while (up_[i] != i) i = up_[i] = up_[up_[i]];
    return i;
  }

  std::vector<std::size_t> up_;
};

}  // namespace refit::detail
