// A good plan, broken in every way that its rules name.
#include "schedule/verify.h"

#include <catch2/catch.hpp>

#include "tests/schedule/broken.h"
#include "tests/support/m2n_case.h"

namespace refit::test {
namespace {

// Ranks 0 and 1 hold half of 8 bytes each; ranks 2 to 5, in domains {2, 3} and {4, 5}, need all.
// The reshard, chunk by chunk (two of 2 B per parcel): 0 -> 2 -> 4 and 1 -> 3 -> 5 over the network
// (lane 0), then 2 <-> 3 and 4 <-> 5 by NVLink (lane 1). Ops 5 to 20 are the transfers:
//    5: 0 -> 2 [0,1)   6: 1 -> 3 [0,1)   7: 0 -> 2 [1,2)   8: 1 -> 3 [1,2)   9: 2 -> 4 [0,1) after
//    5
//   10: 3 -> 5 [0,1) after 6   11: 2 -> 3 [0,1) after 5   …   20: 5 -> 4 [1,2) after 14
// Fewer ops to count through.
Policy without_yields() {
  Policy policy = named_policy("gather_broadcast");
  policy.conduct.yields = false;
  return policy;
}

struct Example {
  M2nCase c{{1, 2, 0}, {4, 1, 0}, {8}, Dtype::u8, 2};
  Refit refit = make_refit(c);
  Cluster cluster = make_cluster(c);
  Schedule good = plan(refit, cluster, named_policy("reshard"), {.chunks = 2});
  Schedule gathered = plan(refit, cluster, without_yields(), {.bucket_bytes = 4});

  std::string findings(const Schedule& schedule) const { return text_of(verify(schedule, refit)); }

  template <class Change>
  std::string with_op_changed(const Schedule& schedule, std::size_t id, Change change) const {
    Op op = schedule.ops[id];
    change(op);
    return findings(with_op(schedule, id, op));
  }
};

}  // namespace

TEST_CASE("the plans of this file are good, and laid out as it says", "[schedule][verify]") {
  const Example e;
  REQUIRE(e.findings(e.good).empty());
  REQUIRE(e.findings(e.gathered).empty());
  REQUIRE(e.good.ops[9].src == Rank(2));
  REQUIRE(e.good.ops[9].dst == Rank(4));
  REQUIRE(e.good.after_of(e.good.ops[9])[0] == OpId(5));
  REQUIRE(e.good.ops[20].src == Rank(5));
}

TEST_CASE("verify: a dropped transfer leaves its receiver without the chunk",
          "[schedule][verify]") {
  const Example e;
  CHECK(e.findings(without_op(e.good, 20)) ==
        "rank 4: never receives chunk 1 of parcel 1 (part of w)\n");
  // Nobody names a dropped relay in vain: what depends on it is found too.
  CHECK(e.findings(without_op(e.good, 9)) ==
        "op 16 (transfer 4 -> 5): rank 4 sends chunk 0 of parcel 0 that it neither owns nor got in "
        "an op "
        "it waits for\n"
        "rank 4: never receives chunk 0 of parcel 0 (part of w)\n");
}

TEST_CASE("verify: nothing is written twice", "[schedule][verify]") {
  const Example e;
  CHECK(e.findings(with_copy_of_op(e.good, 20)) ==
        "op 21 (transfer 5 -> 4): brings chunk 1 of parcel 1 to rank 4 a second time\n");
  CHECK(e.with_op_changed(e.good, 20, [](Op& op) { op.dst = Rank(1); }) ==
        "op 20 (transfer 5 -> 1): brings parcel 1 to rank 1, which owns it\n"
        "rank 4: never receives chunk 1 of parcel 1 (part of w)\n");
}

TEST_CASE("verify: a swapped destination is one too many here and one too few there",
          "[schedule][verify]") {
  const Example e;
  CHECK(e.with_op_changed(e.good, 20, [](Op& op) { op.dst = Rank(2); }) ==
        "op 20 (transfer 5 -> 2): brings chunk 1 of parcel 1 to rank 2 a second time\n"
        "rank 4: never receives chunk 1 of parcel 1 (part of w)\n");
  CHECK(e.with_op_changed(e.good, 20, [](Op& op) { op.dst = Rank(5); }) ==
        "op 20 (transfer): sends from rank 5 to itself\n");
}

TEST_CASE("verify: a wrong chunk is one too many here and one too few there",
          "[schedule][verify]") {
  const Example e;
  const auto chunks = [&](int begin, int end) {
    return e.with_op_changed(e.good, 20, [&](Op& op) {
      op.chunk_begin = begin;
      op.chunk_end = end;
    });
  };
  CHECK(chunks(0, 1) ==
        "op 20 (transfer 5 -> 4): rank 5 sends chunk 0 of parcel 1 that it neither owns nor got in "
        "an op "
        "it waits for\n"
        "op 20 (transfer 5 -> 4): brings chunk 0 of parcel 1 to rank 4 a second time\n"
        "rank 4: never receives chunk 1 of parcel 1 (part of w)\n");
  CHECK(chunks(1, 3) == "op 20 (transfer): moves chunks 1 to 3 of parcel 1, which has 2\n");
  CHECK(chunks(1, 1) == "op 20 (transfer): moves chunks 1 to 1 of parcel 1, which has 2\n");
  CHECK(chunks(-1, 1) == "op 20 (transfer): moves chunks -1 to 1 of parcel 1, which has 2\n");
}

TEST_CASE("verify: the cargo of another parcel is not the sender's to give", "[schedule][verify]") {
  const Example e;
  CHECK(e.with_op_changed(e.good, 5, [](Op& op) { op.cargo = CargoId(1); })
            .find("op 5 (transfer 0 -> 2): rank 0 sends chunk 0 of parcel 1 that it neither owns "
                  "nor got "
                  "in an op it waits for\n") == 0);
}

TEST_CASE("verify: who relays must wait for what it relays", "[schedule][verify]") {
  const Example e;
  SECTION("without `after`") {
    CHECK(e.findings(with_after(e.good, 9, {})) ==
          "op 9 (transfer 2 -> 4): rank 2 sends chunk 0 of parcel 0 that it neither owns nor got "
          "in an op "
          "it waits for\n");
  }
  SECTION("after the same hop of another chunk") {
    CHECK(e.findings(with_after(e.good, 13, {OpId(5)})) ==
          "op 13 (transfer 2 -> 4): rank 2 sends chunk 1 of parcel 0 that it neither owns nor got "
          "in an "
          "op it waits for\n");
  }
  SECTION("after what another rank received") {
    CHECK(e.findings(with_after(e.good, 9, {OpId(5), OpId(6)})) ==
          "op 9 (transfer 2 -> 4): waits for op 6, which its sender, rank 2, takes no part in\n");
  }
  SECTION("after an op that comes later, or itself") {
    CHECK(e.findings(with_after(e.good, 9, {OpId(5), OpId(13)})) ==
          "op 9 (transfer 2 -> 4): waits for op 13, which comes later; name earlier ops only\n");
    CHECK(e.findings(with_after(e.good, 9, {OpId(5), OpId(9)})) ==
          "op 9 (transfer 2 -> 4): waits for op 9, which comes later; name earlier ops only\n");
    CHECK(e.findings(with_after(e.good, 9, {OpId(5), OpId(-1)})) ==
          "op 9 (transfer 2 -> 4): waits for op -1, which comes later; name earlier ops only\n");
  }
  SECTION("after an op of its own round, which starts together with it") {
    CHECK(e.findings(with_after(e.good, 9, {OpId(5), OpId(7)})) ==
          "op 9 (transfer 2 -> 4): waits for op 7 of its own round, 5 of lane 0; put it in a later "
          "one\n");
  }
  SECTION("work after what none of its ranks saw") {
    // Op 2 stacks on ranks 0 and 1; op 22 lands on ranks 2 to 5.
    CHECK(e.findings(with_after(e.good, 22, {OpId(2)})) ==
          "op 22 (compute of 4 ranks): waits for op 2, which none of its ranks takes part in\n");
  }
}

TEST_CASE("verify: a lane is first in, first out", "[schedule][verify]") {
  const Example e;
  CHECK(e.with_op_changed(e.good, 13, [](Op& op) { op.round = 4; }) ==
        "op 13 (transfer 2 -> 4): is in round 4 of lane 0, but rank 2 is in round 5 already\n"
        "op 13 (transfer 2 -> 4): is in round 4 of lane 0, but rank 4 is in round 5 already\n");
  // Op 22 lands after the barrier, in round 7; rank 2 was in round 6 before it.
  CHECK(e.with_op_changed(e.good, 22, [](Op& op) { op.round = 6; }) ==
        "op 22 (compute of 4 ranks): is in round 6 of lane 0, which a barrier of rank 2 ended; use "
        "round "
        "7 or later\n");
}

TEST_CASE("verify: a lane with a window has transfers only, and no rounds", "[schedule][verify]") {
  const Example e;
  const auto windowed = [](Schedule schedule) {
    const std::vector<std::uint16_t> one(static_cast<std::size_t>(schedule.ranks), 1);
    schedule.windows.assign(static_cast<std::size_t>(schedule.lanes), {one, one});
    return schedule;
  };
  // Op 9 is a transfer in round 1 or later of its lane.
  const std::string rounds = e.findings(windowed(e.good));
  CHECK(rounds.find("op 9 (transfer 2 -> 4): is in lane 0, which has a window: use a transfer in "
                    "round 0\n") != std::string::npos);
  Schedule gathered = e.gathered;
  for (Op& op : gathered.ops) op.round = 0;
  CHECK(
      e.findings(windowed(gathered)) ==
      "op 0 (compute of 6 ranks): is in lane 0, which has a window: use a transfer in round 0\n"
      "op 2 (compute of 2 ranks): is in lane 0, which has a window: use a transfer in round 0\n"
      "op 3 (all_gather of 2 ranks): is in lane 0, which has a window: use a transfer in round 0\n"
      "op 4 (broadcast from 0 to 6 ranks): is in lane 1, which has a window: use a transfer in "
      "round 0\n"
      "op 5 (compute of 4 ranks): is in lane 1, which has a window: use a transfer in round 0\n"
      "op 6 (compute of 2 ranks): is in lane 0, which has a window: use a transfer in round 0\n"
      "op 7 (all_gather of 2 ranks): is in lane 0, which has a window: use a transfer in round 0\n"
      "op 8 (broadcast from 0 to 6 ranks): is in lane 1, which has a window: use a transfer in "
      "round 0\n"
      "op 9 (compute of 4 ranks): is in lane 1, which has a window: use a transfer in round 0\n");
}

TEST_CASE("verify: plans that use windows are good", "[schedule][verify]") {
  const Example e;
  const Schedule optimal = plan(e.refit, e.cluster, named_policy("optimal"));
  REQUIRE_FALSE(optimal.windows.empty());
  CHECK(e.findings(optimal) == "");
}

TEST_CASE("verify: bytes are counted, not believed", "[schedule][verify]") {
  Example e;
  CHECK(e.with_op_changed(e.good, 9, [](Op& op) { op.bytes = 1; }) ==
        "op 9 (transfer 2 -> 4): says 1 bytes, but its chunks hold 2\n");
  CHECK(e.with_op_changed(e.gathered, 3, [](Op& op) { op.bytes = 5; }) ==
        "op 3 (all_gather of 2 ranks): says 5 bytes, but its chunks hold 4\n");
  e.good.phases[1].logical_bytes = 7;
  CHECK(e.findings(e.good) ==
        "phase 1 (reshard): says 7 logical bytes, but its ops move parcels of 8\n");
}

TEST_CASE("verify: a parcel's fragments divide the tensor", "[schedule][verify]") {
  Example e;
  Parcel& parcel = e.good.parcels[1];
  Region& region = parcel.fragments[0].region;
  SECTION("bytes") {
    parcel.bytes = 5;
    CHECK(e.findings(e.good) == "parcel 1: says 5 bytes in 2 chunks, but its fragments hold 4\n");
  }
  SECTION("moved: over another, and over the edge of the source shards") {
    region[1] = {3, 7};
    CHECK(e.findings(e.good) ==
          "w: fragments of parcels 0 and 1 hold the same elements\n"
          "w: a fragment of parcel 1 lies partly inside the source shard of rank 0\n");
  }
  SECTION("equal to another") {
    region[1] = {0, 4};
    CHECK(e.findings(e.good) ==
          "w: fragments of parcels 0 and 1 hold the same elements\n"
          "w: parcel 1 names rank 1 among its owners, but that rank's source shard lacks its "
          "content\n");
  }
  SECTION("outside the tensor") {
    region[1] = {5, 9};
    CHECK(e.findings(e.good) == "w: a fragment of parcel 1 does not fit the tensor's shape\n");
  }
  SECTION("of other dims") {
    region = {{0, 4}};
    CHECK(e.findings(e.good) == "w: a fragment of parcel 1 does not fit the tensor's shape\n");
  }
  SECTION("too small") {
    region[1] = {4, 7};
    parcel.bytes = 3;
    CHECK(e.findings(e.good) == "w: fragments hold 7 elements of 8\n");
  }
  SECTION("of another tensor") {
    parcel.fragments[0].tensor_class = ClassId(1);
    CHECK(e.findings(e.good) == "parcel 1: names tensor class 1; there are 1\n");
  }
  SECTION("none") {
    parcel.fragments.clear();
    CHECK(e.findings(e.good) == "parcel 1: has no fragments\n");
  }
}

TEST_CASE("verify: owners and demanders are those of the layouts", "[schedule][verify]") {
  Example e;
  Parcel& parcel = e.good.parcels[1];
  SECTION("one more owner") {
    parcel.owners = {Rank(0), Rank(1)};
    CHECK(e.findings(e.good) ==
          "w: parcel 1 names rank 0 among its owners, but that rank's source shard lacks its "
          "content\n");
  }
  SECTION("another owner") {
    parcel.owners = {Rank(0)};
    CHECK(e.findings(e.good) ==
          "w: parcel 1 names rank 0 among its owners, but that rank's source shard lacks its "
          "content\n");
  }
  SECTION("no owner") {
    parcel.owners.clear();
    CHECK(e.findings(e.good) ==
          "w: parcel 1 leaves rank 1 out of its owners, but that rank's source shard has its "
          "content\n");
  }
  SECTION("one demander less") {
    parcel.demanders.pop_back();
    CHECK(
        e.findings(e.good) ==
        "w: parcel 1 leaves rank 5 out of its demanders, but that rank's destination shard has its "
        "content\n");
  }
  SECTION("one demander more") {
    parcel.demanders.insert(parcel.demanders.begin(), Rank(1));
    CHECK(
        e.findings(e.good) ==
        "w: parcel 1 names rank 1 among its demanders, but that rank's destination shard lacks its "
        "content\n");
  }
  SECTION("out of order") {
    std::swap(parcel.demanders[0], parcel.demanders[1]);
    CHECK(e.findings(e.good) ==
          "w: parcel 1 lists its demanders out of order; they ascend, each once\n");
  }
}

TEST_CASE("verify: a collective needs the content in its group", "[schedule][verify]") {
  Example e;
  // Op 3 gathers among ranks 0 and 1; op 4 broadcasts from 0 to all; group 1 is ranks 2 to 5.
  CHECK(e.with_op_changed(e.gathered, 3, [](Op& op) { op.group = GroupId(1); })
            .find("op 3 (all_gather of 4 ranks): no rank of group 1 owns parcel 0\n"
                  "op 3 (all_gather of 4 ranks): no rank of group 1 owns parcel 1\n") !=
        std::string::npos);
  CHECK(e.with_op_changed(e.gathered, 4, [](Op& op) { op.group = GroupId(1); }) ==
        "op 4 (broadcast from 0 to 4 ranks): its root, rank 0, is not in group 1\n");
  CHECK(e.findings(without_op(e.gathered, 3))
            .find("op 3 (broadcast from 0 to 6 ranks): rank 0 sends chunk 0 of parcel 1 that it "
                  "neither "
                  "owns nor got in an op it waits for\n") != std::string::npos);
  e.gathered.groups[0].ranks.pop_back();
  e.gathered.groups[0].width = 5;
  CHECK(e.findings(e.gathered) ==
        "rank 5: never receives chunk 0 of parcel 0 (part of w)\n"
        "rank 5: never receives chunk 0 of parcel 1 (part of w)\n");
}

TEST_CASE("verify: what a plan names must exist", "[schedule][verify]") {
  Example e;
  const auto op = [&](auto change) { return e.with_op_changed(e.good, 9, change); };
  CHECK(op([](Op& o) { o.src = Rank(6); }) == "op 9 (transfer): names rank 6; there are 6\n");
  CHECK(op([](Op& o) { o.dst = Rank(-1); }) == "op 9 (transfer): names rank -1; there are 6\n");
  CHECK(op([](Op& o) { o.cargo = CargoId(2); }) == "op 9 (transfer): names cargo 2; there are 2\n");
  CHECK(op([](Op& o) { o.lane = 4; }) == "op 9 (transfer): names lane 4; there are 4\n");
  CHECK(op([](Op& o) { o.phase = 3; }) == "op 9 (transfer): names phase 3; there are 3\n");
  CHECK(op([](Op& o) { o.after_end = 1000; }).find("op 9 (transfer): waits for entries ") == 0);
  CHECK(e.with_op_changed(e.good, 1, [](Op& o) { o.group = GroupId(9); }) ==
        "op 1 (barrier): names group 9; there are 3\n");
  SECTION("in a group") {
    e.good.groups[1].ranks = {Rank(0), Rank(0)};
    CHECK(e.findings(e.good) == "group 1: names rank 0 twice\n");
    e.good.groups[1].ranks = {Rank(0), Rank(7)};
    CHECK(e.findings(e.good) == "group 1: names rank 7; there are 6\n");
    e.good.groups[1] = {{Rank(0), Rank(1)}, 3};
    CHECK(e.findings(e.good) == "group 1: 2 ranks do not fill rows of 3\n");
    e.good.groups[1] = {{}, 1};
    CHECK(e.findings(e.good) == "group 1: has no ranks\n");
  }
  SECTION("in a cargo") {
    e.good.cargos[1].parcels = {ParcelId(2)};
    CHECK(e.findings(e.good) == "cargo 1: names parcel 2; there are 2\n");
    e.good.cargos[1].parcels = {ParcelId(0), ParcelId(1)};
    e.good.parcels[1].chunks = 1;
    CHECK(e.findings(e.good) == "cargo 1: joins parcels of 2 and 1 chunks; use equal numbers\n");
    e.good.cargos[1].parcels.clear();
    CHECK(e.findings(e.good) == "cargo 1: has no parcels\n");
  }
  SECTION("in a parcel") {
    e.good.parcels[0].demanders.back() = Rank(6);
    CHECK(e.findings(e.good) == "parcel 0: names rank 6; there are 6\n");
    e.good.parcels[0].demanders.back() = Rank(5);
    e.good.parcels[0].chunks = 0;
    CHECK(e.findings(e.good) == "parcel 0: has 0 chunks; use 1 or more\n");
  }
  SECTION("in the world") {
    e.good.ranks = 7;
    CHECK(e.findings(e.good) == "schedule: is for 7 ranks, but the refit has 6\n");
  }
}

TEST_CASE("verify: a plan that is all wrong gives twenty findings, not thousands",
          "[schedule][verify]") {
  const M2nCase c{{1, 4, 0}, {1, 8, 0}, {64}, Dtype::u8, 1};
  const Refit refit = make_refit(c);
  Schedule schedule = plan(refit, make_cluster(c), named_policy("direct"), {});
  Schedule longer = plan(refit, make_cluster(c), named_policy("reshard"), {.chunks = 64});
  for (Op& op : longer.ops) op.bytes += op.kind == OpKind::transfer ? 1 : 0;
  CHECK(verify(longer, refit).size() == 20);
  schedule.ops.clear();
  CHECK(verify(schedule, refit).size() == 9);  // 8 ranks lack their rows, and a phase moves nothing
}

}  // namespace refit::test
