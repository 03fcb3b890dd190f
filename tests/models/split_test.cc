#include <catch2/catch.hpp>

#include "base/error.h"
#include "models/layout.h"
#include "tests/models/check_fails.h"
#include "tests/models/row_cuts.h"

namespace refit::test {
namespace {

// The rows of every coordinate.
std::vector<std::int64_t> sizes(const Split& split, std::int64_t length, int n) {
  std::vector<std::int64_t> all;
  for (int i = 0; i < n; ++i) all.push_back(split.piece(length, n, i).size());
  return all;
}

std::string refusal(const Split& split, std::int64_t length, int n, int i = 0) {
  try {
    split.piece(length, n, i);
  } catch (const Error& error) {
    REQUIRE(error.code() == ErrorCode::bad_input);
    return error.what();
  }
  return "";
}

void require_same(const CutCase& cut, std::int64_t length, int n) {
  CAPTURE(cut.name, length, n);
  const std::vector<Rows> expected = cut.cut(rows_from_to(0, length));
  REQUIRE(static_cast<int>(expected.size()) == n);
  for (int i = 0; i < n; ++i) {
    REQUIRE(rows_of(cut.split.piece(length, n, i)) == expected[static_cast<std::size_t>(i)]);
  }
}

}  // namespace

TEST_CASE("split: every kind agrees with dealing rows out one by one", "[models][split]") {
  for (std::int64_t length = 1; length <= 24; ++length) {
    for (int n = 1; n <= 9; ++n) {
      require_same(chunk_case(n), length, n);
      require_same(balanced_case(n), length, n);
      for (std::int64_t total = n; total <= 40; total += n) {
        if (total >= length) require_same(padded_case(n, total), length, n);
      }
      if (length % n == 0) {
        require_same(even_case(n), length, n);
        require_same(blocks_case(n, {length}), length, n);
        for (std::int64_t first = 0; first <= length; first += n) {
          require_same(blocks_case(n, {first, length - first}), length, n);
        }
      }
      for (int owners = 1; owners <= n; ++owners) {
        if (n % owners == 0 && length % owners == 0)
          require_same(shared_case(n, owners), length, n);
      }
    }
  }
}

TEST_CASE("split: chunk gives ceil(length / n) rows, the last short or empty", "[models][split]") {
  // torch.chunk of 10 rows in 4: 3, 3, 3, 1. Of 5 in 4: 2, 2, 1 and nothing. Balanced differs.
  REQUIRE(sizes(Split::chunk(), 10, 4) == std::vector<std::int64_t>{3, 3, 3, 1});
  REQUIRE(sizes(Split::chunk(), 5, 4) == std::vector<std::int64_t>{2, 2, 1, 0});
  REQUIRE(sizes(Split::chunk(), 2, 4) == std::vector<std::int64_t>{1, 1, 0, 0});
  REQUIRE(sizes(Split::balanced(), 10, 4) == std::vector<std::int64_t>{3, 3, 2, 2});
  REQUIRE(sizes(Split::balanced(), 2, 4) == std::vector<std::int64_t>{1, 1, 0, 0});
  REQUIRE(sizes(Split::chunk(), 0, 3) == std::vector<std::int64_t>{0, 0, 0});
}

TEST_CASE("split: padding is at the end and nobody's", "[models][split]") {
  // 10 rows padded to 16 in 4: 4, 4, 2, and a rank that holds padding only.
  REQUIRE(sizes(Split::padded(16), 10, 4) == std::vector<std::int64_t>{4, 4, 2, 0});
}

TEST_CASE("split: blocks are divided each on its own", "[models][split]") {
  // [gate 8; up 4] in 2.
  REQUIRE(rows_of(Split::blocks({8, 4}).piece(12, 2, 1)) == Rows{4, 5, 6, 7, 10, 11});
}

TEST_CASE("split: a table is taken as it stands", "[models][split]") {
  const IntervalSet ends = IntervalSet::of({{0, 1}, {3, 4}}), none;
  const Split split = Split::table({ends, none, ends, Interval{1, 3}});
  REQUIRE(split.piece(4, 4, 0) == ends);
  REQUIRE(split.piece(4, 4, 1).empty());
  REQUIRE(split.piece(4, 4, 2) == ends);
  REQUIRE(rows_of(split.piece(4, 4, 3)) == Rows{1, 2});
}

TEST_CASE("split: what can't be divided is refused, naming both numbers", "[models][split]") {
  REQUIRE(refusal(Split::even(), 10, 4) ==
          "a dim of 10 rows does not divide evenly into 4; use a divisor of 10, or split: chunk or "
          "balanced");
  REQUIRE(refusal(Split::padded(14), 10, 4) ==
          "10 rows padded to 14 do not divide evenly into 4; pad to a multiple of 4");
  // The number of parts is not what is wrong here.
  REQUIRE(refusal(Split::padded(8), 10, 4) ==
          "10 rows do not fit in 8 padded rows; pad to 10 or more");
  REQUIRE(refusal(Split::blocks({8, 2}), 10, 4) ==
          "a block of 2 rows does not divide evenly into 4; use a divisor of 2, or split: chunk or "
          "balanced");
  REQUIRE(refusal(Split::blocks({8, 4}), 10, 4) ==
          "blocks sum to 12 rows but the dim has 10; make them equal");
  REQUIRE(refusal(Split::blocks({}), 10, 4) ==
          "blocks sum to 0 rows but the dim has 10; make them equal");
  REQUIRE(refusal(Split::shared(4), 8, 6) ==
          "4 owners can't be shared evenly by 6 ranks; use a multiple of 4");
  REQUIRE(refusal(Split::shared(4), 8, 2) ==
          "4 owners can't be shared evenly by 2 ranks; use a multiple of 4");
  REQUIRE(refusal(Split::shared(4), 10, 8) ==
          "a dim of 10 rows does not divide evenly into 4; use a divisor of 10, or split: chunk or "
          "balanced");
  REQUIRE(refusal(Split::table({Interval{0, 10}}), 10, 2) ==
          "1 pieces are written out for 2 coordinates; make them equal");
  REQUIRE(refusal(Split::table({Interval{0, 11}}), 10, 1) ==
          "piece [0, 11) lies outside a dim of 10 rows");
  REQUIRE(refusal(Split::table({Interval{-1, 4}}), 10, 1) ==
          "piece [-1, 4) lies outside a dim of 10 rows");
}

TEST_CASE("split: numbers that make no sense are a bug of the caller", "[models][split]") {
  REQUIRE_THAT(check_failure([] { Split::padded(0); }), Catch::Contains("total >= 1"));
  REQUIRE_THAT(check_failure([] { Split::shared(0); }), Catch::Contains("owners >= 1"));
  // A negative block would make room for rows before the first.
  REQUIRE_THAT(check_failure([] { Split::blocks({-4, 12}); }), Catch::Contains("does not hold"));
  REQUIRE_THAT(check_failure([] { Split::chunk().piece(8, 4, 4); }),
               Catch::Contains("0 <= i && i < n"));
  REQUIRE_THAT(check_failure([] { Split::chunk().piece(8, 4, -1); }),
               Catch::Contains("0 <= i && i < n"));
}

TEST_CASE("split: kinds and their numbers make splits differ", "[models][split]") {
  const std::vector<Split> splits{Split::chunk(),
                                  Split::balanced(),
                                  Split::even(),
                                  Split::padded(8),
                                  Split::padded(16),
                                  Split::blocks({8}),
                                  Split::blocks({4, 4}),
                                  Split::shared(8),
                                  Split::shared(2),
                                  Split::table({}),
                                  Split::table({Interval{0, 8}})};
  for (std::size_t a = 0; a < splits.size(); ++a) {
    for (std::size_t b = 0; b < splits.size(); ++b) REQUIRE((splits[a] == splits[b]) == (a == b));
  }
}

TEST_CASE("split: chunks of whole units, of which the last may be short", "[models][split]") {
  // 10 rows are units of 4, 4 and 2; two ranks get ceil(3 / 2) = 2 units, so 8 rows and 2.
  const Split split = Split::chunk(4);
  REQUIRE(split.piece(10, 2, 0) == IntervalSet(Interval{0, 8}));
  REQUIRE(split.piece(10, 2, 1) == IntervalSet(Interval{8, 10}));
  REQUIRE(split.piece(10, 4, 2) == IntervalSet(Interval{8, 10}));
  REQUIRE(split.piece(10, 4, 3).empty());
  REQUIRE(split != Split::chunk());
  REQUIRE(Split::chunk(1) == Split::chunk());
}

}  // namespace refit::test
