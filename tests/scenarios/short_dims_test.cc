#include "tests/support/short_dims.h"

#include <catch2/catch.hpp>

#include "models/parcels.h"
#include "tests/support/m2n_case.h"

namespace refit::test {

TEST_CASE("short dims: two rows stay between any two cuts of either side", "[scenarios][support]") {
  // 8,192 rows in 2 source and 4 destination shards are cut at 2,048, 4,096 and 6,144: 4 x 2 rows.
  // Columns are whole: 2 of them.
  const Refit refit = with_short_dims(make_refit({{1, 2, 0}, {1, 4, 0}, {8192, 512}}));
  const TensorClass& c = refit.classes.front();
  REQUIRE(c.shape() == std::vector<std::int64_t>{1, 8, 2});
  REQUIRE(c.source.shard(1)[1] == IntervalSet(Interval{4, 8}));
  REQUIRE(c.destination.shard(3)[1] == IntervalSet(Interval{6, 8}));
  REQUIRE(find_parcels(refit).size() == 4);
}

TEST_CASE("short dims: uneven shards, replicas and empty shards stay", "[scenarios][support]") {
  // 10 rows in chunks of 3, 3, 3, 1 on each of 2 replicas, and of 2 on 7 destinations, two of which
  // get none.
  const M2nCase uneven{{2, 4, 0, false, Split::chunk()}, {1, 7, 0, false, Split::chunk()}, {10}};
  const Refit before = make_refit(uneven);
  const Refit refit = with_short_dims(before);
  const TensorClass& c = refit.classes.front();
  // Cuts at 2, 3, 4, 6, 8 and 9: nothing is longer than two rows, so all stay.
  REQUIRE(c.shape() == std::vector<std::int64_t>{1, 10});
  REQUIRE(c.source.shard(3)[1] == IntervalSet(Interval{9, 10}));
  REQUIRE(c.destination.shard_elements(6) == 0);
  const auto parcels = find_parcels(refit), all = find_parcels(before);
  REQUIRE(parcels.size() == all.size());
  for (std::size_t p = 0; p < parcels.size(); ++p) {
    REQUIRE(parcels[p].owners == all[p].owners);
    REQUIRE(parcels[p].demanders == all[p].demanders);
  }
}

TEST_CASE("short dims: more rows and members stay where more are asked for",
          "[scenarios][support]") {
  Refit whole = make_refit({{1, 2, 0}, {1, 4, 0}, {8192, 512}});
  TensorClass& stacked = whole.classes.front();
  stacked.members = {0, 0, 0};
  stacked.source = Layout({3, 8192, 512}, stacked.source.mesh(), stacked.source.placements());
  stacked.destination =
      Layout({3, 8192, 512}, stacked.destination.mesh(), stacked.destination.placements());
  const Refit refit = with_short_dims(whole, {.rows = 5, .members = 2});
  const TensorClass& c = refit.classes.front();
  // 4 shards of the finer side, of 5 rows each.
  REQUIRE(c.shape() == std::vector<std::int64_t>{2, 20, 5});
  REQUIRE(c.members.size() == 2);
  REQUIRE(with_short_dims(whole, {.rows = 5, .members = 9}).classes.front().members.size() == 3);
}

}  // namespace refit::test
