#include "models/layout.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "tests/models/row_cuts.h"

namespace refit::test {
namespace {

Mesh grid(std::vector<std::pair<std::string, int>> axes) {
  return Mesh::row_major(Rank(0), std::move(axes));
}

std::string refusal(std::vector<std::int64_t> shape, const Mesh& mesh,
                    std::vector<Placement> placements) {
  try {
    Layout(std::move(shape), mesh, std::move(placements));
  } catch (const Error& error) {
    REQUIRE(error.code() == ErrorCode::bad_input);
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("layout: an axis cuts a dim or holds replicas", "[models][layout]") {
  const Layout layout({8, 8}, grid({{"rep", 2}, {"tp", 4}}), {replicate(), shard(0)});
  for (int rank = 0; rank < 8; ++rank) {
    const std::int64_t first = rank % 4 * 2;
    REQUIRE(layout.shard(rank) ==
            std::vector<IntervalSet>{Interval{first, first + 2}, Interval{0, 8}});
    REQUIRE(layout.shard_elements(rank) == 16);
  }
  REQUIRE(layout.held_elements() == 2 * 64);
  REQUIRE(layout.dim_pieces(0).axes == std::vector<int>{1});
  REQUIRE(layout.dim_pieces(0).pieces.size() == 4);
  REQUIRE(layout.dim_pieces(1).axes.empty());
  REQUIRE(layout.dim_pieces(1).pieces == std::vector<IntervalSet>{Interval{0, 8}});
  REQUIRE(layout.shape() == std::vector<std::int64_t>{8, 8});
  REQUIRE(layout.placements() == std::vector{replicate(), shard(0)});
}

TEST_CASE("layout: two axes that cut one dim cut one after the other, in mesh order",
          "[models][layout]") {
  // 10 rows: dp takes chunks of 5, tp of 3 and 2 inside each. Cut by 4 at once: 3, 3, 3, 1.
  const Layout layout({10}, grid({{"dp", 2}, {"tp", 2}}), {shard(0), shard(0)});
  REQUIRE(rows_of(layout.shard(0)[0]) == Rows{0, 1, 2});
  REQUIRE(rows_of(layout.shard(1)[0]) == Rows{3, 4});
  REQUIRE(rows_of(layout.shard(2)[0]) == Rows{5, 6, 7});
  REQUIRE(rows_of(layout.shard(3)[0]) == Rows{8, 9});
  REQUIRE(layout.dim_pieces(0).axes == std::vector<int>{0, 1});

  // The inner axis cuts what the outer left over, also across a gap: dp 0 has rows 0, 1, 4, 5.
  const Layout gaps({8}, grid({{"dp", 2}, {"tp", 2}}), {shard(0, Split::blocks({4, 4})), shard(0)});
  REQUIRE(rows_of(gaps.shard(0)[0]) == Rows{0, 1});
  REQUIRE(rows_of(gaps.shard(1)[0]) == Rows{4, 5});
  REQUIRE(rows_of(gaps.shard(3)[0]) == Rows{6, 7});
  const Layout across({6}, grid({{"dp", 1}, {"tp", 2}}),
                      {shard(0, Split::table({Interval{0, 6}})), shard(0, Split::balanced())});
  REQUIRE(rows_of(across.shard(1)[0]) == Rows{3, 4, 5});
}

TEST_CASE("layout: an axis between two that cut the same dim may cut another", "[models][layout]") {
  const Layout layout({4, 3}, grid({{"a", 2}, {"b", 3}, {"c", 2}}), {shard(0), shard(1), shard(0)});
  for (int i = 0; i < 12; ++i) {
    const int a = i / 6, b = i / 2 % 3, c = i % 2;
    REQUIRE(layout.shard(i) ==
            std::vector<IntervalSet>{Interval{2 * a + c, 2 * a + c + 1}, Interval{b, b + 1}});
  }
}

TEST_CASE("layout: empty shards are fine where there are more ranks than rows",
          "[models][layout]") {
  const Layout layout({2, 3}, grid({{"tp", 4}}), {shard(0)});
  REQUIRE(layout.shard(3)[0].empty());
  REQUIRE(layout.shard_elements(3) == 0);
  REQUIRE(layout.held_elements() == 6);
}

TEST_CASE("layout: what does not fit is refused", "[models][layout]") {
  const Mesh two = grid({{"tp", 2}});
  REQUIRE(refusal({}, two, {replicate()}) == "a tensor needs at least one dim");
  REQUIRE(refusal({4, 0}, two, {replicate()}) == "a tensor dim is 0; use 1 or more");
  REQUIRE(refusal({4, -2}, two, {replicate()}) == "a tensor dim is -2; use 1 or more");
  REQUIRE(refusal({4}, two, {}) ==
          "0 placements for a mesh of 1 axes; give one per axis, outermost first");
  REQUIRE(refusal({4}, two, {replicate(), replicate()}) ==
          "2 placements for a mesh of 1 axes; give one per axis, outermost first");
  REQUIRE(refusal({4, 4}, two, {shard(2)}) == "shard(2) of a tensor with 2 dims; use 0 to 1");
  REQUIRE(refusal({4, 4}, two, {shard(-1)}) == "shard(-1) of a tensor with 2 dims; use 0 to 1");
  REQUIRE(refusal({3}, two, {shard(0, Split::even())}) ==
          "a dim of 3 rows does not divide evenly into 2; use a divisor of 3, or split: chunk or "
          "balanced");
}

TEST_CASE("layout: every element needs a holder", "[models][layout]") {
  const Mesh two = grid({{"tp", 2}});
  const auto table = [](IntervalSet a, IntervalSet b) { return shard(0, Split::table({a, b})); };
  const std::string row_0 = "row 0 of dim 0 is held by no rank; every element needs a holder";
  const std::string row_3 = "row 3 of dim 0 is held by no rank; every element needs a holder";
  REQUIRE(refusal({6, 2}, two, {table(Interval{0, 3}, Interval{4, 6})}) == row_3);
  REQUIRE(refusal({6, 2}, two, {table(Interval{0, 3}, Interval{1, 3})}) == row_3);
  REQUIRE(refusal({6, 2}, two, {table(IntervalSet(), IntervalSet())}) == row_0);
  REQUIRE(refusal({6, 2}, two, {table(Interval{1, 6}, Interval{2, 3})}) == row_0);
  REQUIRE(refusal({6, 2}, two, {table(Interval{2, 6}, Interval{0, 3})}) == "");
  REQUIRE(refusal({6, 2}, two, {table(Interval{0, 6}, IntervalSet())}) == "");
  REQUIRE(refusal({2, 5}, two, {shard(1, Split::table({Interval{0, 2}, Interval{2, 4}}))}) ==
          "row 4 of dim 1 is held by no rank; every element needs a holder");
}

TEST_CASE("layout: layouts are equal if shape, mesh and placements are", "[models][layout]") {
  const Layout layout({8, 8}, grid({{"tp", 4}}), {shard(0)});
  REQUIRE(layout == Layout({8, 8}, grid({{"tp", 4}}), {shard(0)}));
  REQUIRE_FALSE(layout == Layout({8, 9}, grid({{"tp", 4}}), {shard(0)}));
  REQUIRE_FALSE(layout == Layout({8, 8}, grid({{"tp", 2}}), {shard(0)}));
  REQUIRE_FALSE(layout == Layout({8, 8}, grid({{"tp", 4}}), {shard(1)}));
  REQUIRE_FALSE(layout == Layout({8, 8}, grid({{"tp", 4}}), {shard(0, Split::balanced())}));
}

TEST_CASE("layout: shards agree with cutting lists of rows axis by axis",
          "[models][layout][random]") {
  const std::uint32_t seed = 4711;
  CAPTURE(seed);
  RandomCuts random(seed);
  for (int round = 0; round < 1500; ++round) {
    CAPTURE(round);
    const int dims = random.pick(1, 3), axes = random.pick(1, 4);
    std::vector<std::int64_t> shape;
    for (int d = 0; d < dims; ++d) shape.push_back(random.pick(1, 14));
    std::vector<std::pair<std::string, int>> names;
    std::vector<Placement> placements;
    std::vector<CutCase> cuts;
    std::vector<int> cut_before(static_cast<std::size_t>(dims), 0);
    for (int a = 0; a < axes; ++a) {
      const int n = random.pick(1, 4), d = random.pick(-1, dims - 1);
      names.emplace_back(std::string(1, static_cast<char>('a' + a)), n);
      if (d < 0) {
        placements.push_back(replicate());
        cuts.push_back(chunk_case(n));
        continue;
      }
      const bool first = cut_before[static_cast<std::size_t>(d)]++ == 0;
      cuts.push_back(first ? random.any(shape[static_cast<std::size_t>(d)], n)
                           : random.for_any_length(n));
      placements.push_back(shard(d, cuts.back().split));
    }
    const Layout layout(shape, grid(names), placements);
    std::int64_t held = 0;
    for (int i = 0; i < layout.mesh().size(); ++i) {
      const std::vector<int> coordinate = layout.mesh().coordinate_of(i);
      std::int64_t product = 1;
      for (std::size_t d = 0; d < shape.size(); ++d) {
        Rows rows = rows_from_to(0, shape[d]);
        for (std::size_t a = 0; a < placements.size(); ++a) {
          if (!placements[a].sharded || placements[a].dim != static_cast<int>(d)) continue;
          rows = cuts[a].cut(rows)[static_cast<std::size_t>(coordinate[a])];
        }
        REQUIRE(rows_of(layout.shard(i)[d]) == rows);
        product *= static_cast<std::int64_t>(rows.size());
      }
      REQUIRE(layout.shard_elements(i) == product);
      held += product;
    }
    REQUIRE(layout.held_elements() == held);
  }
}

}  // namespace refit::test
