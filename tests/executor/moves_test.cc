#include <catch2/catch.hpp>

#include <algorithm>

#include "base/error.h"
#include "executor/moves.h"
#include "executor/rank_program.h"
#include "tests/support/m2n_case.h"
#include "tests/support/small_refits.h"

namespace refit::test {
namespace {

// The slow, obvious version: looks through all ops and moves.
std::vector<std::uint32_t> moves_with(const Moves& moves, OpId op, Rank rank) {
  std::vector<std::uint32_t> found;
  for (std::uint32_t m = 0; m < moves.moves.size(); ++m) {
    const Move& move = moves.moves[m];
    if (move.op == op && (move.src == rank || move.dst == rank)) found.push_back(m);
  }
  return found;
}

bool concerns(const Schedule& schedule, const Op& op, Rank rank) {
  if (op.kind == OpKind::compute) return false;
  if (op.kind == OpKind::transfer) return op.src == rank || op.dst == rank;
  return std::ranges::count(schedule.groups[op.group.index()].ranks, rank) > 0;
}

struct Case {
  Schedule schedule;
  Refit refit;
  Cluster cluster;
};

Case planned(const char* strategy) {
  const M2nCase c{{2, 4, 0}, {4, 2, 1}, {24, 40}, Dtype::bf16, 4};
  PlanOptions options;
  options.chunks = 3;
  options.bucket_bytes = 500;
  const Refit refit = make_refit(c);
  const Cluster cluster = make_cluster(c);
  return {plan(refit, cluster, named_policy(strategy), options), refit, cluster};
}

}  // namespace

TEST_CASE("moves: they are as many as were counted, whatever the pieces", "[executor]") {
  const char* strategy = GENERATE("reshard", "direct", "gather_broadcast", "hybrid");
  const Case c = planned(strategy);
  // From a move per byte to one per op.
  for (const std::int64_t piece_bytes : {1, 7, 16, 1000, 1 << 20}) {
    CAPTURE(strategy, piece_bytes);
    const MoveOptions options{.piece_bytes = piece_bytes};
    const Moves moves = write_out(c.schedule, c.refit, c.cluster, options);
    REQUIRE(static_cast<std::int64_t>(moves.moves.size()) ==
            count_moves(c.schedule, c.refit, c.cluster, options));
  }
}

TEST_CASE("moves: more than a run can have are refused with their number", "[executor]") {
  Case c = planned("direct");
  const auto moves = count_moves(c.schedule, c.refit, c.cluster);
  REQUIRE_NOTHROW(write_out(c.schedule, c.refit, c.cluster, {.most_moves = moves}));

  // One broadcast of 8 TB to 16 ranks: 7,629,394 pieces of 1 MiB, rounded up to equal numbers on
  // each of the narrowest domain's 4 GPUs, to 15 others: 7,629,396 * 15.
  c.schedule.groups = {{{}, 16}};
  for (int r = 0; r < 16; ++r) c.schedule.groups[0].ranks.push_back(Rank(r));
  Op op;
  op.kind = OpKind::broadcast;
  op.group = GroupId(0);
  op.bytes = 8'000'000'000'000;
  c.schedule.ops = {op};
  try {
    write_out(c.schedule, c.refit, c.cluster);
    FAIL("they were written out");
  } catch (const Error& error) {
    REQUIRE(error.code() == ErrorCode::bad_input);
    REQUIRE(std::string(error.what()) ==
            "the schedule is 114,440,940 messages between ranks, and a run can have 16,777,216 at "
            "most; scale its bytes down (--scale) or use fewer ranks");
  }
}

TEST_CASE("rank program: a rank has every op that concerns it, with its moves, in order",
          "[executor][oracle]") {
  const char* strategy = GENERATE("reshard", "direct", "gather_broadcast", "hybrid");
  CAPTURE(strategy);
  Case c = planned(strategy);
  // At least one barrier, of all.
  Group all{{}, c.schedule.ranks};
  for (int r = 0; r < c.schedule.ranks; ++r) all.ranks.push_back(Rank(r));
  Op barrier;
  barrier.kind = OpKind::barrier;
  barrier.group = GroupId(static_cast<std::int64_t>(c.schedule.groups.size()));
  c.schedule.groups.push_back(all);
  c.schedule.ops.push_back(barrier);
  const Moves moves = write_out(c.schedule, c.refit, c.cluster, {.piece_bytes = 16});
  for (int r = 0; r < c.schedule.ranks; ++r) {
    const RankProgram program = rank_program(c.schedule, moves, Rank(r));
    for (std::size_t lane = 0; lane < static_cast<std::size_t>(c.schedule.lanes); ++lane) {
      CAPTURE(r, lane);
      std::vector<OpId> ops, expected_ops;
      std::vector<std::uint32_t> posted, expected_posted;
      for (const auto& segment : program.segments) {
        for (const auto& round : segment.lanes[lane]) {
          ops.insert(ops.end(), round.ops.begin(), round.ops.end());
          posted.insert(posted.end(), round.moves.begin(), round.moves.end());
        }
      }
      for (std::size_t id = 0; id < c.schedule.ops.size(); ++id) {
        const Op& op = c.schedule.ops[id];
        const OpId own(static_cast<std::int64_t>(id));
        if (op.lane != lane || !concerns(c.schedule, op, Rank(r))) continue;
        expected_ops.push_back(own);
        const auto found = moves_with(moves, own, Rank(r));
        expected_posted.insert(expected_posted.end(), found.begin(), found.end());
      }
      REQUIRE(ops == expected_ops);
      REQUIRE(posted == expected_posted);
    }
    // One before the first barrier, and two for each: the barrier and what follows it.
    const auto barriers = std::ranges::count(c.schedule.ops, OpKind::barrier, &Op::kind);
    REQUIRE(program.segments.size() == 1 + 2 * static_cast<std::size_t>(barriers));
  }
}

}  // namespace refit::test
