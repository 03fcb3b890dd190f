#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "models/layout.h"

namespace refit::test {

// Rows one by one: slow and obvious, to compare intervals with.
using Rows = std::vector<std::int64_t>;

inline Rows rows_of(const IntervalSet& set) {
  Rows rows;
  for (const Interval& part : set.intervals()) {
    for (std::int64_t row = part.begin; row < part.end; ++row) rows.push_back(row);
  }
  return rows;
}

inline Rows rows_from_to(std::int64_t begin, std::int64_t end) {
  Rows rows;
  for (std::int64_t row = begin; row < end; ++row) rows.push_back(row);
  return rows;
}

inline IntervalSet set_of(const Rows& rows) {
  std::vector<Interval> ones;
  for (const std::int64_t row : rows) ones.push_back({row, row + 1});
  return IntervalSet::of(ones);
}

// Deals `rows` out in order, sizes[i] to the i-th.
inline std::vector<Rows> deal(const Rows& rows, const std::vector<std::int64_t>& sizes) {
  std::vector<Rows> hands;
  std::size_t next = 0;
  for (const std::int64_t size : sizes) {
    hands.emplace_back();
    for (std::int64_t i = 0; i < size && next < rows.size(); ++i)
      hands.back().push_back(rows[next++]);
  }
  return hands;
}

// A split beside the same thing done with lists of rows.
struct CutCase {
  std::string name;
  Split split;
  std::function<std::vector<Rows>(const Rows&)> cut;  // into the n that the case was made for
};

// torch.chunk: ceil(length / n) rows for each until there are none left.
inline CutCase chunk_case(int n) {
  return {"chunk", Split::chunk(), [n](const Rows& rows) {
            const auto length = static_cast<std::int64_t>(rows.size());
            return deal(
                rows, std::vector<std::int64_t>(static_cast<std::size_t>(n), (length + n - 1) / n));
          }};
}

inline CutCase balanced_case(int n) {
  return {"balanced", Split::balanced(), [n](const Rows& rows) {
            std::vector<std::int64_t> sizes(static_cast<std::size_t>(n), 0);
            for (std::size_t row = 0; row < rows.size(); ++row) ++sizes[row % sizes.size()];
            return deal(rows, sizes);
          }};
}

inline CutCase even_case(int n) {
  return {"even", Split::even(), [n](const Rows& rows) {
            const auto each = static_cast<std::int64_t>(rows.size()) / n;
            return deal(rows, std::vector<std::int64_t>(static_cast<std::size_t>(n), each));
          }};
}

inline CutCase padded_case(int n, std::int64_t total) {
  return {"padded", Split::padded(total), [n, total](const Rows& rows) {
            return deal(rows, std::vector<std::int64_t>(static_cast<std::size_t>(n), total / n));
          }};
}

inline CutCase blocks_case(int n, const std::vector<std::int64_t>& lengths) {
  return {"blocks", Split::blocks(lengths), [n, lengths](const Rows& rows) {
            std::vector<Rows> hands(static_cast<std::size_t>(n));
            for (const Rows& block : deal(rows, lengths)) {
              const std::vector<Rows> parts = even_case(n).cut(block);
              for (std::size_t i = 0; i < parts.size(); ++i) {
                hands[i].insert(hands[i].end(), parts[i].begin(), parts[i].end());
              }
            }
            return hands;
          }};
}

inline CutCase shared_case(int n, int owners) {
  return {"shared", Split::shared(owners), [n, owners](const Rows& rows) {
            std::vector<Rows> hands;
            for (const Rows& part : even_case(owners).cut(rows)) {
              for (int copy = 0; copy < n / owners; ++copy) hands.push_back(part);
            }
            return hands;
          }};
}

inline CutCase table_case(const std::vector<Rows>& positions) {
  std::vector<IntervalSet> pieces;
  for (const Rows& rows : positions) pieces.push_back(set_of(rows));
  return {"table", Split::table(pieces), [positions](const Rows& rows) {
            std::vector<Rows> hands;
            for (const Rows& wanted : positions) {
              hands.emplace_back();
              for (const std::int64_t at : wanted)
                hands.back().push_back(rows[static_cast<std::size_t>(at)]);
            }
            return hands;
          }};
}

// Any kind of split that can cut `length` rows into n such that every row is held. `rest` may cut
// pieces of unequal lengths, so it is only of the kinds that fit any length.
class RandomCuts {
 public:
  explicit RandomCuts(std::uint32_t seed) : random_(seed) {}

  int pick(int least, int most) {
    return least + static_cast<int>(random_() % static_cast<std::uint32_t>(most - least + 1));
  }

  CutCase any(std::int64_t length, int n) {
    switch (pick(0, 6)) {
      case 0:
        return balanced_case(n);
      case 1:
        if (length % n == 0) return even_case(n);
        break;
      case 2:
        return padded_case(n, (length + n - 1) / n * n + n * pick(0, 2));
      case 3:
        if (length % n == 0 && length / n >= 2) return blocks_case(n, {n, length - n});
        break;
      case 4:
        for (int owners = n; owners >= 1; --owners) {
          if (n % owners == 0 && length % owners == 0 && (owners < n || pick(0, 1) == 0))
            return shared_case(n, owners);
        }
        break;
      case 5:
        return table(length, n);
      default:
        break;
    }
    return chunk_case(n);
  }

  CutCase for_any_length(int n) { return pick(0, 1) == 0 ? chunk_case(n) : balanced_case(n); }

 private:
  // Every row to one coordinate, some to others too; pieces come out scattered, equal or empty.
  CutCase table(std::int64_t length, int n) {
    std::vector<Rows> positions(static_cast<std::size_t>(n));
    const int copies = pick(0, 3);
    for (std::int64_t row = 0; row < length; ++row) {
      const int owner = pick(0, n - 1);
      for (int i = 0; i < n; ++i) {
        if (i == owner || pick(1, 8) <= copies)
          positions[static_cast<std::size_t>(i)].push_back(row);
      }
    }
    return table_case(positions);
  }

  std::mt19937 random_;
};

}  // namespace refit::test
