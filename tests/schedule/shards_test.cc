#include "schedule/detail/shards.h"

#include <algorithm>
#include <random>
#include <vector>

#include <catch2/catch.hpp>

namespace refit::detail {
namespace {

TEST_CASE("shards: ranks that differ only in an axis that cuts nothing hold the same",
          "[schedule][verify]") {
  // Rank 4 * rep + 2 * column + row. Two halves of the rows, two of the columns; shard 2 * row +
  // column, so that ranks 0, 1, 2, 3 hold shards 0, 2, 1, 3, and ranks 4 to 7 the same again.
  const Layout layout({4, 6}, Mesh::row_major(Rank{0}, {{"rep", 2}, {"column", 2}, {"row", 2}}),
                      {replicate(), shard(1), shard(0)});
  const Shards shards(layout);
  REQUIRE(shards.in_mesh_order() == std::vector<std::size_t>{0, 2, 1, 3});
  CHECK(shards.ranks(0) == std::vector{Rank{0}, Rank{4}});
  CHECK(shards.ranks(1) == std::vector{Rank{2}, Rank{6}});
  CHECK(shards.ranks(2) == std::vector{Rank{1}, Rank{5}});
  CHECK(shards.ranks(3) == std::vector{Rank{3}, Rank{7}});
  CHECK(shards.side(2, 0) == IntervalSet(Interval{2, 4}));
  CHECK(shards.side(2, 1) == IntervalSet(Interval{0, 3}));
  CHECK(shards.side(1, 0) == IntervalSet(Interval{0, 2}));
  CHECK(shards.side(1, 1) == IntervalSet(Interval{3, 6}));
}

TEST_CASE("shards: several axes that cut one dim cut one after the other", "[schedule][verify]") {
  // Rank 2 * outer + inner holds quarter 2 * outer + inner of eight rows.
  const Layout layout({8, 3}, Mesh::row_major(Rank{8}, {{"outer", 2}, {"inner", 2}}),
                      {shard(0), shard(0)});
  const Shards shards(layout);
  REQUIRE(shards.in_mesh_order() == std::vector<std::size_t>{0, 1, 2, 3});
  CHECK(shards.ranks(3) == std::vector{Rank{11}});
  CHECK(shards.side(3, 0) == IntervalSet(Interval{6, 8}));
  CHECK(shards.side(3, 1) == IntervalSet(Interval{0, 3}));
}

// Each piece has each row with even odds, but for the first, which has what nobody else has.
DimPieces random_pieces(std::mt19937& random, std::size_t pieces, int rows) {
  std::vector<std::vector<Interval>> held(pieces);
  for (std::int64_t row = 0; row < rows; ++row) {
    bool is_held = false;
    for (std::size_t p = 1; p < pieces; ++p) {
      if (random() % 2 == 0) continue;
      held[p].push_back({row, row + 1});
      is_held = true;
    }
    if (!is_held) held[0].push_back({row, row + 1});
  }
  DimPieces dim;
  for (std::vector<Interval>& intervals : held)
    dim.pieces.push_back(IntervalSet::of(std::move(intervals)));
  return dim;
}

TEST_CASE("pieces: rows are held by the pieces that contain them, or by some in part",
          "[schedule][verify]") {
  const unsigned seed = GENERATE(range(1u, 30u));
  CAPTURE(seed);
  std::mt19937 random(seed);
  constexpr int kRows = 10;
  const DimPieces dim = random_pieces(random, 1 + random() % 4, kRows);
  const PieceIndex index(dim);
  int whole = 0;
  for (std::int64_t begin = 0; begin < kRows; ++begin) {
    for (std::int64_t end = begin + 1; end <= kRows; ++end) {
      CAPTURE(begin, end);
      const IntervalSet rows(Interval{begin, end});
      std::vector<int> holders;
      bool in_part = false;
      for (std::size_t p = 0; p < dim.pieces.size(); ++p) {
        const std::int64_t common = intersect(dim.pieces[p], rows).size();
        if (common == end - begin) holders.push_back(static_cast<int>(p));
        in_part = in_part || (common > 0 && common < end - begin);
      }
      const auto found = index.holders({begin, end});
      REQUIRE(found.has_value() == !in_part);
      if (found) REQUIRE(index.pieces(*found) == holders);
      whole += found ? 1 : 0;
    }
  }
  REQUIRE(whole >= kRows);  // single rows are never held in part
}

TEST_CASE("pieces: equal sets of holders have equal numbers", "[schedule][verify]") {
  // Rows 0 and 1 and again 4 and 5 are the first piece's, 2 and 3 the second's.
  DimPieces dim;
  dim.pieces = {IntervalSet::of({{0, 2}, {4, 6}}), IntervalSet(Interval{2, 4})};
  const PieceIndex index(dim);
  CHECK(index.holders({0, 2}) == index.holders({4, 6}));
  CHECK(index.holders({0, 1}) == index.holders({1, 2}));
  CHECK(index.holders({2, 4}) != index.holders({0, 2}));
  CHECK_FALSE(index.holders({1, 3}).has_value());
}

}  // namespace
}  // namespace refit::detail
