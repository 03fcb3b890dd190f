#include <catch2/catch.hpp>

#include <optional>
#include <random>

#include "models/flat_bucket.h"
#include "tests/models/engine_case.h"

namespace refit::test {
namespace {

struct Cell {
  int parameter = -1;  // -1: nobody's
  std::int64_t element = 0;
};

// The buffer written out element by element.
std::vector<Cell> cells_of(const FlatBucket& bucket, const std::vector<FlatParameter>& parameters,
                           int ranks) {
  std::vector<Cell> cells(static_cast<std::size_t>(bucket.shard_elements() * ranks));
  for (int p = 0; p < static_cast<int>(parameters.size()); ++p) {
    for (std::int64_t e = 0; e < parameters[static_cast<std::size_t>(p)].elements(); ++e) {
      Cell& cell = cells.at(static_cast<std::size_t>(bucket.offset(p) + e));
      REQUIRE(cell.parameter == -1);  // nobody lies on another
      cell = {p, e};
    }
  }
  return cells;
}

}  // namespace

TEST_CASE("flat bucket: the widest come first, and a rank's border falls between rows",
          "[models][flat]") {
  // a: 5 rows of 4, b: 6 of 1. The grid is 4; a ends at 20, b at 26; padded to 2 x 16.
  const FlatBucket bucket({{6, 1}, {5, 4}}, 2);
  REQUIRE(bucket.grid() == 4);
  REQUIRE(bucket.offset(1) == 0);
  REQUIRE(bucket.offset(0) == 20);
  REQUIRE(bucket.shard_elements() == 16);
  REQUIRE(bucket.rows_by_rank(1) == std::vector<IntervalSet>{Interval{0, 4}, Interval{4, 5}});
  REQUIRE(bucket.rows_by_rank(0) == std::vector<IntervalSet>{Interval{}, Interval{0, 6}});
}

TEST_CASE("flat bucket: a layer of Qwen3-30B-A3B", "[models][flat]") {
  // Widths 2048 (fc1) and 768 (fc2): the grid is their multiple, 6144. Two experts of fc1
  // [1536, 2048] and fc2 [2048, 768], 3 ranks: 9437184 elements are 1536 cells, 512 for each rank:
  // 3145728 elements, which is one fc1.
  const FlatBucket bucket({{1536, 2048}, {1536, 2048}, {2048, 768}, {2048, 768}}, 3);
  REQUIRE(bucket.grid() == 6144);
  REQUIRE(bucket.shard_elements() == 3'145'728);
  REQUIRE(bucket.rows_by_rank(0)[0] == IntervalSet(Interval{0, 1536}));
  REQUIRE(bucket.rows_by_rank(1)[1] == IntervalSet(Interval{0, 1536}));
  REQUIRE(bucket.rows_by_rank(3)[2] == IntervalSet(Interval{0, 2048}));
  // Five ranks: 1536 cells round up to 1540, 308 each, 1892352 elements: rank 0 has 924 rows of
  // expert 0, rank 1 the other 612 and 312 of expert 1.
  const FlatBucket five({{1536, 2048}, {1536, 2048}, {2048, 768}, {2048, 768}}, 5);
  REQUIRE(five.shard_elements() == 1'892'352);
  REQUIRE(five.rows_by_rank(0)[0] == IntervalSet(Interval{0, 924}));
  REQUIRE(five.rows_by_rank(0)[1] == IntervalSet(Interval{924, 1536}));
  REQUIRE(five.rows_by_rank(1)[1] == IntervalSet(Interval{0, 312}));
}

TEST_CASE("flat bucket: what a cell has left goes to another's remainder, then to small ones",
          "[models][flat]") {
  // Widths 10 and 6 with 3 and 7 rows: 10 divides nothing of 6, so that the grid is 30. a: 30 ends
  // its cell. b: 42 leaves 12 in its last cell, and 18 free. c (4 x 6 = 24) is smaller than a cell
  // but larger than 18; d (17) fits behind b, and e (1) behind d. c comes last.
  const FlatBucket bucket({{3, 10}, {7, 6}, {4, 6}, {17, 1}, {1, 1}}, 1);
  REQUIRE(bucket.grid() == 30);
  REQUIRE(bucket.offset(0) == 0);
  REQUIRE(bucket.offset(1) == 30);
  REQUIRE(bucket.offset(3) == 72);
  REQUIRE(bucket.offset(4) == 89);
  REQUIRE(bucket.offset(2) == 90);
  // Grid 6 for widths 6 and 3: a has 5 x 3 = 15, three over, and b 3 x 3 = 9, three over: b ends
  // the cell in which a ends, [12, 18), with its first three, and takes the next.
  const FlatBucket shared({{1, 6}, {5, 3}, {3, 3}}, 1);
  REQUIRE(shared.grid() == 6);
  REQUIRE(shared.offset(1) == 6);
  REQUIRE(shared.offset(2) == 21);
  REQUIRE(shared.shard_elements() == 30);
}

TEST_CASE("flat bucket: small parameters do not refine the grid, and may then be cut in a row",
          "[models][flat]") {
  // 4 elements in rows of 2 are less than a cell of 5 and lie behind a cell's end at 10.
  const FlatBucket bucket({{2, 5}, {2, 2}, {1, 1}, {2, 2}}, 3);
  REQUIRE(bucket.grid() == 5);
  // c (1 element) has width 1 and comes last: 2 x 2 at 10 and 14, one at 18. 19 -> 30 = 3 x 10.
  REQUIRE(bucket.offset(1) == 10);
  REQUIRE(bucket.offset(3) == 14);
  REQUIRE(bucket.offset(2) == 18);
  // With three of them one lies at 14 to 18 and the border of 4 ranks of 5 at 15.
  const FlatBucket cut({{2, 5}, {2, 2}, {2, 2}}, 4);
  REQUIRE(cut.shard_elements() == 5);
  REQUIRE(refusal([&] { cut.rows_by_rank(2); }) ==
          "the border between two ranks falls inside a row of 2 elements, and only whole rows can "
          "be described; use another number of ranks");
}

TEST_CASE("flat bucket: widths without a common multiple to count with are refused",
          "[models][flat]") {
  REQUIRE(
      refusal([] {
        FlatBucket({{std::int64_t{1} << 22, (1 << 22) - 1}, {std::int64_t{1} << 22, 1 << 21}}, 2);
      }) ==
      "rows of 4194303 and of 2097152 elements have no common multiple up to 2^40, on which a "
      "flat buffer could be divided");
}

TEST_CASE("flat bucket: in random buckets every element lies once, and ranks own equal intervals",
          "[models][flat][oracle]") {
  const unsigned seed = 77;
  CAPTURE(seed);
  std::mt19937 random(seed);
  int split_rows = 0;
  for (int round = 0; round < 1'000; ++round) {
    const int ranks = 1 + static_cast<int>(random() % 6);
    std::vector<FlatParameter> parameters;
    for (int p = 1 + static_cast<int>(random() % 7); p > 0; --p) {
      const std::int64_t widths[] = {1, 2, 4, 6, 8, 12};
      parameters.push_back({1 + static_cast<std::int64_t>(random() % 20), widths[random() % 6]});
    }
    const FlatBucket bucket(parameters, ranks);
    CAPTURE(round, ranks, bucket.grid());
    REQUIRE(bucket.shard_elements() % bucket.grid() == 0);
    const std::vector<Cell> cells = cells_of(bucket, parameters, ranks);
    for (int p = 0; p < static_cast<int>(parameters.size()); ++p) {
      const FlatParameter& shape = parameters[static_cast<std::size_t>(p)];
      // Rank by rank, row by row: all elements of a row are its, or none.
      std::vector<std::vector<std::int64_t>> counts(
          static_cast<std::size_t>(ranks),
          std::vector<std::int64_t>(static_cast<std::size_t>(shape.rows), 0));
      for (std::size_t c = 0; c < cells.size(); ++c) {
        if (cells[c].parameter != p) continue;
        const auto rank = c / static_cast<std::size_t>(bucket.shard_elements());
        ++counts[rank][static_cast<std::size_t>(cells[c].element / shape.width)];
      }
      bool whole = true;
      for (const auto& of_rank : counts) {
        for (const std::int64_t n : of_rank) whole = whole && (n == 0 || n == shape.width);
      }
      if (!whole) {
        ++split_rows;
        REQUIRE_FALSE(refusal([&] { bucket.rows_by_rank(p); }).empty());
        continue;
      }
      const std::vector<IntervalSet> rows = bucket.rows_by_rank(p);
      for (std::size_t rank = 0; rank < rows.size(); ++rank) {
        for (std::int64_t row = 0; row < shape.rows; ++row) {
          REQUIRE(rows[rank].contains(row) == (counts[rank][static_cast<std::size_t>(row)] > 0));
        }
      }
    }
  }
  REQUIRE(split_rows < 400);
}

}  // namespace refit::test
