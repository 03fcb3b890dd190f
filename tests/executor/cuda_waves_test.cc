#include <catch2/catch.hpp>

#include <algorithm>
#include <map>

#include "executor/cuda/waves.h"
#include "executor/rank_program.h"
#include "tests/executor/cuda_place.h"
#include "tests/support/m2n_case.h"

namespace refit::test {
namespace {

Move move(int src, int dst, std::uint32_t after_begin = 0, std::uint32_t after_end = 0) {
  Move m;
  m.src = Rank(src);
  m.dst = Rank(dst);
  m.end = 1;
  m.after_begin = after_begin;
  m.after_end = after_end;
  return m;
}

}  // namespace

TEST_CASE("waves: a broadcast along three ranks stays a pipeline", REFIT_PLACE) {
  Schedule schedule;
  schedule.ranks = 3;
  schedule.lanes = 1;
  Op op;
  op.kind = OpKind::broadcast;
  schedule.ops.push_back(op);
  Moves moves;  // pieces a b c: 0 > 1 and then 1 > 2
  moves.moves = {move(0, 1),       move(1, 2, 0, 1), move(0, 1),
                 move(1, 2, 1, 2), move(0, 1),       move(1, 2, 2, 3)};
  moves.after = {0, 2, 4};
  moves.first_of_op = {0, 6};
  const auto levels = move_levels(schedule, moves);
  REQUIRE(levels == std::vector<std::uint32_t>{0, 1, 1, 2, 2, 3});

  // The middle rank takes b while it hands on a.
  const auto waves = waves_of(schedule, moves, levels, Rank(1));
  REQUIRE(waves.size() == 4);
  REQUIRE(waves[1].moves == std::vector<std::uint32_t>{1, 2});
}

TEST_CASE("waves: every dependency and every round on a rank's lane raises the level",
          REFIT_PLACE) {
  const M2nCase c{{2, 4, 0}, {4, 2, 1}, {24, 40}, Dtype::bf16, 4};
  const Refit refit = make_refit(c);
  const Cluster cluster = make_cluster(c);
  for (const char* strategy : {"reshard", "direct", "gather_broadcast", "hybrid"}) {
    CAPTURE(strategy);
    PlanOptions options;
    options.chunks = 3;
    options.bucket_bytes = 500;
    const Schedule schedule = plan(refit, cluster, named_policy(strategy), options);
    const Moves moves = write_out(schedule, refit, cluster, {16});
    const auto levels = move_levels(schedule, moves);
    for (std::uint32_t m = 0; m < moves.moves.size(); ++m) {
      for (const std::uint32_t earlier : moves.after_of(moves.moves[m]))
        REQUIRE(levels[earlier] < levels[m]);
      for (const OpId op : schedule.after_of(schedule.ops[moves.moves[m].op.index()])) {
        for (std::uint32_t e = moves.first_of_op[op.index()]; e < moves.first_of_op[op.index() + 1];
             ++e)
          REQUIRE(levels[e] < levels[m]);
      }
    }
    for (int r = 0; r < schedule.ranks; ++r) {
      std::size_t in_waves = 0;
      for (const Wave& wave : waves_of(schedule, moves, levels, Rank(r)))
        in_waves += wave.moves.size();
      std::size_t in_program = 0;
      std::int64_t highest_before = -1;  // of the segments before, all lanes
      for (const auto& segment : rank_program(schedule, moves, Rank(r)).segments) {
        std::int64_t highest = highest_before;
        for (const auto& lane : segment.lanes) {
          std::int64_t before = highest_before;
          for (const auto& round : lane) {
            std::int64_t top = before;
            for (const std::uint32_t m : round.moves) {
              REQUIRE(static_cast<std::int64_t>(levels[m]) > before);
              top = std::max(top, static_cast<std::int64_t>(levels[m]));
              ++in_program;
            }
            before = top;
          }
          highest = std::max(highest, before);
        }
        highest_before = highest;
      }
      REQUIRE(in_waves == in_program);
    }
  }
}

}  // namespace refit::test
