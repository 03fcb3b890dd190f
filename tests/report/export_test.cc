#include <catch2/catch.hpp>

#include <sstream>

#include "report/export/goal.h"
#include "report/export/rank_events.h"
#include "report/export/trace.h"
#include "tests/report/sample.h"

namespace refit {
namespace {

Op transfer(int src, int dst, int round, std::int64_t bytes) {
  Op op;
  op.src = Rank(src);
  op.dst = Rank(dst);
  op.round = round;
  op.bytes = bytes;
  return op;
}

Schedule with_ops(std::vector<Op> ops, int ranks) {
  Schedule schedule;
  schedule.strategy = "direct";
  schedule.ranks = ranks;
  schedule.lanes = 1;
  schedule.phases = {{"direct", 0}};
  schedule.ops = std::move(ops);
  return schedule;
}

std::string goal_of(const Schedule& schedule) {
  const Moves moves = write_out(schedule, Refit{}, Cluster(two_gpu_nodes(2)));
  std::ostringstream text;
  write_goal(text, rank_events(schedule, moves, Timeline(schedule.ops.size(), {0, 2e-6})));
  return text.str();
}

TEST_CASE("rank events: a round waits for all of the round before", "[report][export]") {
  // Rank 0 sends twice in round 0 and once in round 1: the last waits for a join of both.
  const Schedule schedule =
      with_ops({transfer(0, 1, 0, 5), transfer(0, 2, 0, 6), transfer(0, 1, 1, 7)}, 4);
  CHECK(goal_of(schedule) ==
        "num_ranks 4\n"
        "\nrank 0 {\n"
        "l0: send 5b to 1 tag 0\n"
        "l1: send 6b to 2 tag 1\n"
        "l2: calc 0\nl2 requires l0\nl2 requires l1\n"
        "l3: send 7b to 1 tag 2\nl3 requires l2\n"
        "}\n"
        "\nrank 1 {\n"
        "l0: recv 5b from 0 tag 0\n"
        "l1: recv 7b from 0 tag 2\nl1 requires l0\n"
        "}\n"
        "\nrank 2 {\nl0: recv 6b from 0 tag 1\n}\n"
        "\nrank 3 {\n}\n");
}

TEST_CASE("rank events: a window of one lets the next begin when the one before is done",
          "[report][export]") {
  Schedule schedule =
      with_ops({transfer(0, 1, 0, 5), transfer(0, 2, 0, 6), transfer(3, 2, 0, 7)}, 4);
  schedule.windows = {{{1, 1, 1, 1}, {0, 0, 0, 0}}};
  const std::string text = goal_of(schedule);
  CHECK(text.find("l1: send 6b to 2 tag 1\nl1 requires l0\n") != std::string::npos);
  // Receiving has no limit.
  CHECK(text.find("l0: recv 6b from 0 tag 1\nl1: recv 7b from 3 tag 2\n") != std::string::npos);
}

TEST_CASE("rank events: work and what follows it, and a barrier that closes all lanes",
          "[report][export]") {
  Op work;
  work.kind = OpKind::compute;
  work.work = Work::pack;
  work.group = GroupId(0);
  Op barrier;
  barrier.kind = OpKind::barrier;
  barrier.group = GroupId(1);
  Schedule schedule = with_ops({work, transfer(0, 1, 1, 5), barrier, transfer(0, 1, 2, 6)}, 2);
  schedule.groups = {{{Rank(0)}, 1}, {{Rank(0), Rank(1)}, 2}};
  CHECK(goal_of(schedule) ==
        "num_ranks 2\n"
        "\nrank 0 {\n"
        "l0: calc 2000\n"  // 2 us
        "l1: send 5b to 1 tag 0\nl1 requires l0\n"
        "l2: calc 0\nl2 requires l0\nl2 requires l1\n"  // all so far
        "l3: recv 1b from 1 tag 1\nl3 requires l2\n"
        "l4: send 1b to 1 tag 2\nl4 requires l2\nl4 requires l3\n"
        "l5: calc 0\nl5 requires l3\nl5 requires l4\n"
        "l6: send 6b to 1 tag 3\nl6 requires l5\n"
        "}\n"
        "\nrank 1 {\n"
        "l0: recv 5b from 0 tag 0\n"
        "l1: send 1b to 0 tag 1\nl1 requires l0\n"
        "l2: recv 1b from 0 tag 2\nl2 requires l0\n"
        "l3: calc 0\nl3 requires l1\nl3 requires l2\n"
        "l4: recv 6b from 0 tag 3\nl4 requires l3\n"
        "}\n");
}

TEST_CASE("trace: of more than 64 ranks one of each class is shown", "[report][export]") {
  // Ranks 0 to 98 send to rank 99, all at the same time but rank 7, which takes longer.
  std::vector<Op> ops;
  for (int r = 0; r < 99; ++r) ops.push_back(transfer(r, 99, 0, 5));
  const Schedule schedule = with_ops(ops, 100);
  Timeline timeline(99, {0, 1});
  timeline[7].end_s = 2;
  const TracedRanks shown = default_traced_ranks(schedule, {&timeline});
  REQUIRE(shown.ranks.size() == 3);
  CHECK(shown.left_out == 0);
  CHECK(shown.ranks[0].rank == Rank(0));
  CHECK(shown.ranks[0].alike == 97);
  CHECK(shown.ranks[1].rank == Rank(7));
  CHECK(shown.ranks[2].rank == Rank(99));
  // All different: 64 classes fit, the 65th rank and those behind it do not.
  for (std::size_t i = 0; i < timeline.size(); ++i) timeline[i].end_s = 1 + static_cast<double>(i);
  const TracedRanks many = default_traced_ranks(schedule, {&timeline});
  CHECK(many.ranks.size() == 64);
  CHECK(many.left_out == 36);
}

}  // namespace
}  // namespace refit
