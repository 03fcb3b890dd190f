#include "executor/op_times.h"

#include <algorithm>
#include <thread>

#include <catch2/catch.hpp>

#include "executor/inproc_transport.h"
#include "executor/rank_memory.h"
#include "executor/run_rank.h"
#include "tests/support/m2n_case.h"

namespace refit::test {
namespace {

bool concerns(const Schedule& schedule, const Op& op, Rank rank) {
  if (op.kind == OpKind::compute) return false;  // nothing to move
  if (op.kind == OpKind::transfer) return op.src == rank || op.dst == rank;
  const std::vector<Rank>& group = schedule.groups[op.group.index()].ranks;
  if (op.kind == OpKind::broadcast && op.src == rank) return true;
  return std::ranges::find(group, rank) != group.end();
}

}  // namespace

TEST_CASE("op times: a rank has those of its own ops and of no others", "[executor]") {
  const M2nCase c{{2, 4, 0}, {4, 2, 1}, {24, 40}, Dtype::bf16, 4};
  const Refit refit = make_refit(c);
  const Cluster cluster = make_cluster(c);
  const Schedule schedule =
      plan(refit, cluster, named_policy(GENERATE("direct", "gather_broadcast", "hybrid")), {});
  CAPTURE(schedule.strategy);
  const Moves moves = write_out(schedule, refit, cluster);
  const RunContext context{schedule, refit, cluster, moves};

  InprocHub hub(schedule.ranks);
  const double begin_s = steady_clock_s();
  std::vector<OpTimes> times(static_cast<std::size_t>(schedule.ranks));
  std::vector<std::thread> ranks;
  for (int r = 0; r < schedule.ranks; ++r) {
    ranks.emplace_back([&, rank = Rank(r)] {
      RankMemory memory(refit, schedule, rank);
      memory.prepare(1);
      const auto transport = hub.transport(rank);
      times[rank.index()] =
          run_rank(context, rank_program(schedule, moves, rank), memory, *transport, begin_s);
    });
  }
  for (std::thread& rank : ranks) rank.join();

  Timeline merged(schedule.ops.size());
  for (int r = 0; r < schedule.ranks; ++r) {
    CAPTURE(r);
    const OpTimes& of_rank = times[static_cast<std::size_t>(r)];
    std::vector<OpId> own;
    for (std::size_t op = 0; op < schedule.ops.size(); ++op)
      if (concerns(schedule, schedule.ops[op], Rank(r))) own.push_back(OpId(static_cast<int>(op)));
    REQUIRE(of_rank.size() == own.size());
    for (std::size_t i = 0; i < own.size(); ++i) {
      REQUIRE(of_rank[i].op == own[i]);
      REQUIRE(of_rank[i].span.start_s > 0);
      REQUIRE(of_rank[i].span.end_s >= of_rank[i].span.start_s);
    }
    merge(of_rank, merged);
  }
  for (std::size_t op = 0; op < merged.size(); ++op) {
    CAPTURE(op);
    REQUIRE((merged[op].end_s > 0) == (schedule.ops[op].kind != OpKind::compute));
  }
}

TEST_CASE("op times: of all ranks the earliest start and the latest end", "[executor]") {
  Timeline merged(3);
  merge({{OpId(0), {2, 3}}, {OpId(2), {5, 6}}}, merged);
  merge({{OpId(0), {1, 2}}, {OpId(1), {}}, {OpId(2), {5.5, 7}}}, merged);
  REQUIRE(merged == Timeline{{1, 3}, {}, {5, 7}});
}

TEST_CASE("op times: the place of an op among those of a rank", "[executor]") {
  const std::vector<OpId> own{OpId(3), OpId(4), OpId(9)};
  for (int op = 0; op < 11; ++op) {
    CAPTURE(op);
    const auto at = std::ranges::find(own, OpId(op));
    const auto place = place_of(OpId(op), own);
    REQUIRE(place.has_value() == (at != own.end()));
    if (place) REQUIRE(own[*place] == OpId(op));
  }
  REQUIRE_FALSE(place_of(OpId(0), {}));
}

}  // namespace refit::test
