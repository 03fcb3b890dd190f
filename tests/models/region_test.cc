#include "models/region.h"

#include <random>

#include <catch2/catch.hpp>

#include "tests/models/check_fails.h"
#include "tests/models/row_cuts.h"

namespace refit::test {
namespace {

// A set of some of the rows 0 .. length-1.
IntervalSet some_rows(std::mt19937& random, std::int64_t length) {
  Rows rows;
  for (std::int64_t row = 0; row < length; ++row) {
    if (random() % 3 != 0) rows.push_back(row);
  }
  return set_of(rows);
}

void require_normal(const IntervalSet& set) {
  for (std::size_t i = 0; i < set.intervals().size(); ++i) {
    REQUIRE(set.intervals()[i].size() > 0);
    if (i > 0) REQUIRE(set.intervals()[i - 1].end < set.intervals()[i].begin);
  }
}

}  // namespace

TEST_CASE("interval set: an interval is a set, an empty interval the empty set",
          "[models][region]") {
  REQUIRE(Interval{3, 7}.size() == 4);
  REQUIRE(IntervalSet(Interval{3, 7}).intervals() == std::vector<Interval>{{3, 7}});
  REQUIRE(IntervalSet(Interval{3, 3}).empty());
  REQUIRE(IntervalSet(Interval{3, 3}) == IntervalSet());
  REQUIRE(IntervalSet(Interval{4, 3}).empty());
  REQUIRE(IntervalSet().size() == 0);
}

TEST_CASE("interval set: of() sorts, joins what touches and drops what is empty",
          "[models][region]") {
  const IntervalSet set = IntervalSet::of({{8, 9}, {0, 2}, {5, 5}, {2, 4}, {6, 8}});
  REQUIRE(set.intervals() == std::vector<Interval>{{0, 4}, {6, 9}});
  REQUIRE(set.size() == 7);
  for (const std::int64_t inside : {0, 3, 6, 8}) REQUIRE(set.contains(inside));
  for (const std::int64_t outside : {-1, 4, 5, 9}) REQUIRE_FALSE(set.contains(outside));
  REQUIRE(IntervalSet::of({}).empty());
}

TEST_CASE("interval set: overlapping intervals are a bug of the caller", "[models][region]") {
  REQUIRE_THAT(check_failure([] {
                 IntervalSet::of({{0, 4}, {3, 5}});
               }),
               Catch::Contains("'set.intervals_.back().end == interval.begin' does not hold"));
  REQUIRE_THAT(check_failure([] {
                 IntervalSet::of({{0, 4}, {0, 4}});
               }),
               Catch::Contains("does not hold"));
  REQUIRE(check_failure([] { IntervalSet::of({{0, 4}, {4, 5}}); }) == "");
}

TEST_CASE("interval set: intersect agrees with testing each row", "[models][region]") {
  const std::uint32_t seed = 20250801;
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int i = 0; i < 500; ++i) {
    const IntervalSet a = some_rows(random, 1 + i % 23), b = some_rows(random, 23);
    Rows both;
    for (std::int64_t row = 0; row < 23; ++row) {
      if (a.contains(row) && b.contains(row)) both.push_back(row);
    }
    const IntervalSet common = intersect(a, b);
    REQUIRE(rows_of(common) == both);
    REQUIRE(common == intersect(b, a));
    require_normal(common);
  }
  REQUIRE(intersect(IntervalSet(Interval{0, 4}), IntervalSet(Interval{4, 8})).empty());
  REQUIRE(intersect(IntervalSet(), IntervalSet(Interval{4, 8})).empty());
}

TEST_CASE("interval set: stacked blocks keep their rows and join where they touch",
          "[models][region]") {
  // Rows 2..3 of a block of 4, none of a block of 3, rows 0 and 2 of a block of 3: 2, 3, 7, 9.
  const IntervalSet none, ends = IntervalSet::of({{0, 1}, {2, 3}});
  REQUIRE(rows_of(stack({Interval{2, 4}, none, ends}, {4, 3, 3})) == Rows{2, 3, 7, 9});
  REQUIRE(stack({Interval{2, 4}, Interval{0, 1}}, {4, 1}).intervals() ==
          std::vector<Interval>{{2, 5}});
  REQUIRE(stack({}, {}).empty());
}

TEST_CASE("region: elements, intersect and contains of boxes", "[models][region]") {
  const Region box{{0, 4}, {2, 8}};
  REQUIRE(elements(box) == 4 * 6);
  REQUIRE(elements({}) == 1);
  REQUIRE(intersect(box, {{2, 6}, {0, 3}}) == Region{{2, 4}, {2, 3}});
  REQUIRE(intersect(box, {{4, 6}, {2, 8}}) == std::nullopt);  // touching boxes share nothing
  REQUIRE(intersect(box, {{0, 4}, {0, 2}}) == std::nullopt);
  REQUIRE(contains(box, box));
  REQUIRE(contains(box, {{3, 4}, {2, 3}}));
  REQUIRE_FALSE(contains(box, {{3, 5}, {2, 3}}));
  REQUIRE_FALSE(contains(box, {{3, 4}, {1, 3}}));
  REQUIRE_THAT(check_failure([&] {
                 intersect(box, {{0, 1}});
               }),
               Catch::Contains("a.size() == b.size()"));
  REQUIRE_THAT(check_failure([&] {
                 contains(box, {{0, 1}});
               }),
               Catch::Contains("outer.size() == inner.size()"));
}

TEST_CASE("slice: cuts the first dim that the parts divide", "[models][region]") {
  REQUIRE(slice({{0, 3}, {8, 16}, {0, 32}}, 1, 4) == Region{{0, 3}, {10, 12}, {0, 32}});
  REQUIRE(slice({{0, 3}, {8, 16}}, 2, 3) == Region{{2, 3}, {8, 16}});
  REQUIRE(slice({{5, 6}, {8, 16}}, 0, 1) == Region{{5, 6}, {8, 16}});
}

TEST_CASE("slice: else it cuts the longest dim, in parts that differ by a row",
          "[models][region]") {
  // 7 rows in 3: [0, 2), [2, 4), [4, 7).
  REQUIRE(slice({{0, 5}, {0, 7}}, 0, 3) == Region{{0, 5}, {0, 2}});
  REQUIRE(slice({{0, 5}, {0, 7}}, 1, 3) == Region{{0, 5}, {2, 4}});
  REQUIRE(slice({{0, 5}, {0, 7}}, 2, 3) == Region{{0, 5}, {4, 7}});
  // 2 rows in 4: two of the parts get none.
  int some = 0;
  for (int part = 0; part < 4; ++part) some += slice({{0, 1}, {0, 2}}, part, 4).has_value() ? 1 : 0;
  REQUIRE(some == 2);
}

TEST_CASE("slice: the parts of a region are disjoint, cover it and differ by a row",
          "[models][region]") {
  const std::int64_t a = GENERATE(range(1, 10)), b = GENERATE(1, 2, 3, 5, 8), c = GENERATE(1, 6);
  const int parts = GENERATE(range(1, 13));
  const Region whole{{3, 3 + a}, {1, 1 + b}, {0, c}};
  CAPTURE(a, b, c, parts);
  std::int64_t sum = 0, least = elements(whole), most = 0;
  std::vector<Region> seen;
  for (int part = 0; part < parts; ++part) {
    const auto box = slice(whole, part, parts);
    const std::int64_t size = box ? elements(*box) : 0;
    REQUIRE(slice_elements(whole, part, parts) == size);
    least = std::min(least, size);
    most = std::max(most, size);
    sum += size;
    if (!box) continue;
    REQUIRE(size > 0);
    REQUIRE(contains(whole, *box));
    for (const Region& other : seen) REQUIRE_FALSE(intersect(other, *box).has_value());
    seen.push_back(*box);
  }
  REQUIRE(sum == elements(whole));  // disjoint, inside, and as many: they cover it
  const std::int64_t row = elements(whole) / std::max({a, b, c});
  const bool divides = a % parts == 0 || b % parts == 0 || c % parts == 0;
  REQUIRE(most - least <= (divides ? 0 : row));
}

TEST_CASE("slice: a part outside 0 to parts - 1 is a bug of the caller", "[models][region]") {
  REQUIRE_THAT(check_failure([] {
                 slice({{0, 4}}, 4, 4);
               }),
               Catch::Contains("0 <= part && part < parts"));
  REQUIRE_THAT(check_failure([] {
                 slice({{0, 4}}, -1, 4);
               }),
               Catch::Contains("0 <= part && part < parts"));
}

}  // namespace refit::test
