#include <catch2/catch.hpp>

#include "models/select_rows.h"
#include "tests/models/engine_case.h"
#include "tests/models/row_cuts.h"
#include "tests/support/small_refits.h"

namespace refit::test {

TEST_CASE("select_rows: every layout of a small tensor keeps exactly the chosen rows",
          "[models][select_rows]") {
  const IntervalSet chosen = rows({{1, 2}, {3, 6}, {7, 8}});
  const Rows kept = rows_of(chosen);
  for (const int ranks : {1, 4, 8, 12}) {
    for (const Layout& layout : all_layouts({8, 3}, 5, ranks)) {
      const Layout part = select_rows(layout, 1, chosen);
      REQUIRE(part.shape() == std::vector<std::int64_t>{1, 5, 3});
      for (const Rank rank : layout.mesh().ranks()) {
        const auto before = layout.shard(index_of(layout, rank));
        const auto after = part.shard(index_of(part, rank));
        REQUIRE(after[2] == before[2]);
        for (std::size_t i = 0; i < kept.size(); ++i) {
          REQUIRE(after[1].contains(static_cast<std::int64_t>(i)) == before[1].contains(kept[i]));
        }
      }
    }
  }
}

TEST_CASE("select_rows: all rows are the layout itself", "[models][select_rows]") {
  const Layout layout({8}, Mesh(Rank(0), {{"r", 2, 1}}), {shard(0)});
  REQUIRE(select_rows(layout, 0, Interval{0, 8}) == layout);
  REQUIRE(refusal([&] { select_rows(layout, 0, {}); }) == "a tensor dim is 0; use 1 or more");
}

TEST_CASE("places_in: rows of a set counted inside another", "[models][select_rows]") {
  REQUIRE(places_in(rows({{2, 4}, {8, 12}}), rows({{3, 4}, {8, 9}, {11, 12}})) ==
          rows({{1, 3}, {5, 6}}));
}

}  // namespace refit::test
