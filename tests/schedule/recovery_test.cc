#include <catch2/catch.hpp>

#include <map>
#include <random>

#include "schedule/recovery.h"
#include "tests/support/m2n_case.h"

namespace refit::test {
namespace {

std::vector<bool> lost_rank(const Schedule& schedule, int rank) {
  std::vector<bool> lost(static_cast<std::size_t>(schedule.ranks), false);
  lost[static_cast<std::size_t>(rank)] = true;
  return lost;
}

// Whether the op waits for one that brings these chunks to its sender.
bool is_relayed(const Schedule& schedule, const Op& op) {
  for (const OpId id : schedule.after_of(op)) {
    const Op& before = schedule.ops[id.index()];
    if (before.dst == op.src && before.cargo == op.cargo && before.chunk_begin <= op.chunk_begin &&
        before.chunk_end >= op.chunk_end) {
      return true;
    }
  }
  return false;
}

// Every surviving demander ends with every chunk exactly once, from somebody who had it and lives.
void require_whole(const Recovery& recovery, const Schedule& original, const Holdings& before,
                   const std::vector<bool>& lost) {
  Holdings after = before;
  for (const Op& op : recovery.schedule.ops) {
    REQUIRE(op.kind == OpKind::transfer);
    REQUIRE_FALSE(lost[op.src.index()]);
    REQUIRE_FALSE(lost[op.dst.index()]);
    for (const ParcelId id : recovery.schedule.cargos[op.cargo.index()].parcels) {
      const Parcel& parcel = original.parcels[id.index()];
      const bool owner = std::binary_search(parcel.owners.begin(), parcel.owners.end(), op.src);
      for (int c = op.chunk_begin; c < op.chunk_end; ++c) {
        REQUIRE((owner || before.has(id, op.src, c) || is_relayed(recovery.schedule, op)));
        REQUIRE_FALSE(after.has(id, op.dst, c));
      }
      after.add(id, op.dst, op.chunk_begin, op.chunk_end);
    }
  }
  for (std::size_t p = 0; p < original.parcels.size(); ++p) {
    for (const Rank demander : original.parcels[p].demanders) {
      if (lost[demander.index()]) continue;
      for (int c = 0; c < original.parcels[p].chunks; ++c) {
        REQUIRE(after.has(ParcelId(static_cast<std::int64_t>(p)), demander, c));
      }
    }
  }
}

}  // namespace

TEST_CASE("recovery: what a lost source had not sent yet comes from its replica",
          "[schedule][recovery]") {
  // Two source replicas of two shards, one destination replica: S0 and S1 send, S2 and S3 idle.
  const M2nCase c{{2, 2, 0}, {1, 2, 0}, {8, 8}, Dtype::u8, 2};
  const Refit refit = make_refit(c);
  const Schedule schedule = plan(refit, make_cluster(c), named_policy("reshard"), {.chunks = 4});
  Holdings half(schedule.parcels);
  for (const Op& op : schedule.ops) {
    if (op.kind == OpKind::transfer && op.chunk_end <= 2) half.add(schedule, op, op.dst);
  }
  const auto lost = lost_rank(schedule, 0);
  const Recovery recovery = plan_recovery(schedule, refit, make_cluster(c), lost, half);
  REQUIRE(recovery.dropped.empty());
  REQUIRE(recovery.unserved.empty());
  require_whole(recovery, schedule, half, lost);
  // Half of each 32 B shard is missing; nothing that has arrived is sent again.
  std::int64_t bytes = 0;
  for (const Op& op : recovery.schedule.ops) bytes += op.bytes;
  REQUIRE(bytes == 32);
}

TEST_CASE("recovery: a lost destination is dropped, others go on", "[schedule][recovery]") {
  const M2nCase c{{1, 2, 0}, {2, 2, 0}, {8, 8}, Dtype::u8, 2};
  const Refit refit = make_refit(c);
  const Schedule schedule = plan(refit, make_cluster(c), named_policy("reshard"), {.chunks = 2});
  const Holdings nothing(schedule.parcels);
  const auto lost = lost_rank(schedule, 3);
  const Recovery recovery = plan_recovery(schedule, refit, make_cluster(c), lost, nothing);
  REQUIRE(recovery.dropped == std::vector<Rank>{Rank(3)});
  REQUIRE(recovery.unserved.empty());
  require_whole(recovery, schedule, nothing, lost);
}

TEST_CASE("recovery: what a domain lacks enters it once, spread over its ranks",
          "[schedule][recovery]") {
  // One shard of 64 B in 8 chunks, two owners in one domain, four ranks of another that want all of
  // it: 64 B over the network, half from each owner, a quarter into each rank; the other three
  // quarters of each come over NVLink.
  const M2nCase c{{2, 1, 0}, {4, 1, 0}, {8, 8}, Dtype::u8, 4};
  const Refit refit = make_refit(c);
  const Cluster cluster = make_cluster(c);
  const Schedule schedule = plan(refit, cluster, named_policy("reshard"), {.chunks = 8});
  const std::vector<bool> lost(static_cast<std::size_t>(schedule.ranks), false);
  const Holdings nothing(schedule.parcels);
  const Recovery recovery = plan_recovery(schedule, refit, cluster, lost, nothing);
  require_whole(recovery, schedule, nothing, lost);
  std::map<Rank, std::int64_t> out, in;
  std::int64_t nvlink = 0;
  for (const Op& op : recovery.schedule.ops) {
    if (cluster.domain(op.src) == cluster.domain(op.dst)) {
      nvlink += op.bytes;
    } else {
      out[op.src] += op.bytes;
      in[op.dst] += op.bytes;
    }
  }
  REQUIRE(out == std::map<Rank, std::int64_t>{{Rank(0), 32}, {Rank(1), 32}});
  REQUIRE(in ==
          std::map<Rank, std::int64_t>{{Rank(2), 16}, {Rank(3), 16}, {Rank(4), 16}, {Rank(5), 16}});
  REQUIRE(nvlink == 3 * 64);
}

TEST_CASE("recovery: the loss of the only holder names the tensor", "[schedule][recovery]") {
  const M2nCase c{{1, 2, 0}, {1, 2, 0}, {8, 8}, Dtype::u8, 2};
  const Refit refit = make_refit(c);
  const Schedule schedule = plan(refit, make_cluster(c), named_policy("reshard"), {.chunks = 2});
  const Recovery recovery = plan_recovery(schedule, refit, make_cluster(c), lost_rank(schedule, 1),
                                          Holdings(schedule.parcels));
  REQUIRE(recovery.unserved == std::vector<std::string>{"w"});
}

TEST_CASE("recovery: from any moment and any lost replica the rest ends whole",
          "[schedule][recovery]") {
  const unsigned seed = 7;
  CAPTURE(seed);
  std::mt19937 random(seed);
  const M2nCase c{{2, 4, 0}, {4, 2, 1}, {16, 24}, Dtype::u8, 4};
  const Refit refit = make_refit(c);
  const Schedule schedule = plan(refit, make_cluster(c), named_policy("reshard"), {.chunks = 3});
  for (int round = 0; round < 100; ++round) {
    const int rank = std::uniform_int_distribution<int>(0, schedule.ranks - 1)(random);
    const auto until = std::uniform_int_distribution<std::size_t>(0, schedule.ops.size())(random);
    CAPTURE(rank, until);
    Holdings holdings(schedule.parcels);
    for (std::size_t i = 0; i < until; ++i) {
      if (schedule.ops[i].kind == OpKind::transfer) {
        holdings.add(schedule, schedule.ops[i], schedule.ops[i].dst);
      }
    }
    const auto lost = lost_rank(schedule, rank);
    const Recovery recovery = plan_recovery(schedule, refit, make_cluster(c), lost, holdings);
    REQUIRE(recovery.unserved.empty());  // every shard has a second owner
    require_whole(recovery, schedule, holdings, lost);
  }
}

TEST_CASE("holdings of a rank survive the way to another process", "[schedule][recovery]") {
  const M2nCase c{{1, 2, 0}, {2, 2, 1}, {8, 70}, Dtype::u8, 2};
  const Refit refit = make_refit(c);
  const Schedule schedule = plan(refit, make_cluster(c), named_policy("reshard"), {.chunks = 70});
  Holdings holdings(schedule.parcels);
  for (const Op& op : schedule.ops) {
    if (op.kind == OpKind::transfer && op.chunk_begin % 3 == 0) holdings.add(schedule, op, op.dst);
  }
  Holdings copy(schedule.parcels);
  for (int r = 0; r < schedule.ranks; ++r) copy.set_rank(Rank(r), holdings.of_rank(Rank(r)));
  REQUIRE(copy == holdings);
}

}  // namespace refit::test
