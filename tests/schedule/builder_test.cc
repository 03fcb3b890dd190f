#include "schedule/builder.h"

#include <catch2/catch.hpp>

#include "tests/support/m2n_case.h"

namespace refit::test {
namespace {

// Ranks 0 and 1 hold 10 bytes each of 20 rows; ranks 2 and 3 need all.
struct Question {
  Refit refit = make_refit({{1, 2, 0}, {2, 1, 0}, {20}});

  ScheduleBuilder builder(int chunks, int lanes = 2) const {
    std::vector<Parcel> parcels = find_parcels(refit);
    for (Parcel& parcel : parcels) parcel.chunks = chunks;
    return ScheduleBuilder(refit, "by hand", std::move(parcels), lanes);
  }
};

}  // namespace

TEST_CASE("equal groups and cargos get one number, others their own", "[schedule][builder]") {
  const Question question;
  ScheduleBuilder builder = question.builder(1);
  const GroupId row = builder.group({Rank(0), Rank(1), Rank(2), Rank(3)});
  CHECK(builder.group({Rank(0), Rank(1), Rank(2), Rank(3)}, 4) == row);  // one row: width is all
  CHECK(builder.group({Rank(0), Rank(1), Rank(2), Rank(3)}, 2) != row);
  CHECK(builder.group({Rank(3), Rank(2), Rank(1), Rank(0)}) != row);  // the order of a ring counts
  const CargoId both = builder.cargo({ParcelId(0), ParcelId(1)});
  CHECK(builder.cargo({ParcelId(0), ParcelId(1)}) == both);
  CHECK(builder.cargo({ParcelId(1)}) != both);
  const Schedule schedule = std::move(builder).finish();
  CHECK(schedule.groups.size() == 3);
  CHECK(schedule.cargos.size() == 2);
}

TEST_CASE("an op's bytes are those of its chunks", "[schedule][builder]") {
  const Question question;
  ScheduleBuilder builder = question.builder(3);
  builder.begin_phase("reshard");
  const CargoId one = builder.cargo({ParcelId(0)});
  const CargoId both = builder.cargo({ParcelId(0), ParcelId(1)});
  for (int c = 0; c < 3; ++c) builder.transfer({0, c}, Rank(0), Rank(2), one, {c, c + 1});
  builder.all_gather({0, 3}, builder.group({Rank(0), Rank(1)}), both, {0, 3});
  builder.broadcast({0, 4}, Rank(0), builder.group({Rank(0), Rank(2)}), both, {0, 2});
  const Schedule schedule = std::move(builder).finish();
  // 10 rows in 3 parts: they sum to 10 and differ by at most one.
  std::int64_t sum = 0;
  for (std::size_t op = 0; op < 3; ++op) {
    CHECK(schedule.ops[op].bytes >= 3);
    CHECK(schedule.ops[op].bytes <= 4);
    sum += schedule.ops[op].bytes;
  }
  CHECK(sum == 10);
  CHECK(schedule.ops[3].bytes == 20);
  CHECK(schedule.ops[4].bytes == 2 * (schedule.ops[0].bytes + schedule.ops[1].bytes));
}

TEST_CASE("a phase counts each parcel once, however often it moves", "[schedule][builder]") {
  const Question question;
  ScheduleBuilder builder = question.builder(2);
  const int first = builder.begin_phase("first");
  const CargoId one = builder.cargo({ParcelId(0)});
  const CargoId both = builder.cargo({ParcelId(0), ParcelId(1)});
  builder.transfer({0, 0}, Rank(0), Rank(2), one, {0, 1});
  builder.transfer({0, 0}, Rank(0), Rank(3), one, {0, 1});
  builder.begin_phase("second");
  builder.transfer({0, 1}, Rank(0), Rank(2), one, {1, 2});
  builder.continue_phase(first);
  builder.all_gather({0, 2}, builder.group({Rank(0), Rank(1)}), both, {0, 2});
  const Schedule schedule = std::move(builder).finish();
  CHECK(schedule.phases == std::vector<Phase>{{"first", 20}, {"second", 10}});
  CHECK(schedule.ops[2].phase == 1);
  CHECK(schedule.ops[3].phase == 0);
}

TEST_CASE("the next round of a lane follows the last that an op used", "[schedule][builder]") {
  const Question question;
  ScheduleBuilder builder = question.builder(1);
  builder.begin_phase("reshard");
  const CargoId one = builder.cargo({ParcelId(0)});
  const GroupId all = builder.group({Rank(0), Rank(1), Rank(2), Rank(3)});
  CHECK(builder.next_round(0) == 0);
  builder.transfer({0, 4}, Rank(0), Rank(2), one, {0, 1});
  CHECK(builder.next_round(0) == 5);
  CHECK(builder.next_round(1) == 0);  // lanes count on their own
  builder.compute({1, 2}, Work::land, all, 1, 8);
  builder.compute({1, 1}, Work::land, all, 1, 8);
  CHECK(builder.next_round(1) == 3);
  builder.barrier(all);  // stands between rounds, in none
  CHECK(builder.next_round(0) == 5);
}

TEST_CASE("an op keeps what it was given", "[schedule][builder]") {
  const Question question;
  ScheduleBuilder builder = question.builder(4);
  builder.begin_phase("reshard");
  const CargoId one = builder.cargo({ParcelId(1)});
  const GroupId all = builder.group({Rank(0), Rank(1), Rank(2), Rank(3)});
  const OpId first = builder.transfer({0, 0}, Rank(1), Rank(2), one, {1, 3});
  const OpId second = builder.transfer({1, 0}, Rank(2), Rank(3), one, {1, 3}, {first});
  const OpId third = builder.compute({1, 1}, Work::load, all, 7, 64, {first, second});
  const Schedule schedule = std::move(builder).finish();
  CHECK(schedule.strategy == "by hand");
  CHECK(schedule.ranks == 4);
  CHECK(schedule.lanes == 2);
  CHECK(first == OpId(0));
  const Op& relay = schedule.ops[second.index()];
  CHECK(relay.kind == OpKind::transfer);
  CHECK(relay.lane == 1);
  CHECK(relay.round == 0);
  CHECK(relay.src == Rank(2));
  CHECK(relay.dst == Rank(3));
  CHECK(relay.cargo == one);
  CHECK(relay.chunk_begin == 1);
  CHECK(relay.chunk_end == 3);
  REQUIRE(schedule.after_of(relay).size() == 1);
  CHECK(schedule.after_of(relay)[0] == first);
  const Op& work = schedule.ops[third.index()];
  CHECK(work.work == Work::load);
  CHECK(work.count == 7);
  CHECK(work.bytes == 64);
  CHECK(work.group == all);
  CHECK(schedule.after_of(work).size() == 2);
}

}  // namespace refit::test
