#include <utility>

#include <catch2/catch.hpp>

#include "sim/detail/lane_order.h"
#include "sim/predict.h"
#include "tests/sim/plans.h"

using namespace refit;
using namespace refit::test;

namespace {

using Pairs = std::vector<std::pair<detail::TaskId, detail::TaskId>>;  // before, task

Pairs pairs(const detail::LaneOrder& order) {
  Pairs all;
  for (const detail::Edge& edge : order.edges()) all.emplace_back(edge.before, edge.task);
  return all;
}

// Every rank sends and receives so many at a time on lane 0.
Timeline timeline(Schedule schedule, std::uint16_t send, std::uint16_t receive) {
  const auto all = static_cast<std::size_t>(schedule.ranks);
  schedule.windows = {
      {std::vector<std::uint16_t>(all, send), std::vector<std::uint16_t>(all, receive)}};
  const auto solver = GENERATE(Solver::native, Solver::incremental);
  return predict(schedule, lone_gpus(schedule.ranks), {wire_only(), solver}).timeline;
}

}  // namespace

TEST_CASE("window: an op waits for the one that many places before it", "[sim][lanes]") {
  const auto queued = [](std::uint16_t width) {
    detail::LaneOrder order(1, 1, 5);
    for (detail::TaskId task = 0; task < 5; ++task) order.queue(task, 0, true, width, Rank(0));
    return pairs(order);
  };
  CHECK(queued(1) == Pairs{{0, 1}, {1, 2}, {2, 3}, {3, 4}});
  CHECK(queued(2) == Pairs{{0, 2}, {1, 3}, {2, 4}});
  CHECK(queued(0) == Pairs{});  // any number at a time
}

TEST_CASE("window: sending and receiving do not wait for each other, nor do ranks and lanes",
          "[sim][lanes]") {
  detail::LaneOrder order(2, 2, 4);
  order.queue(0, 0, true, 1, Rank(0));
  order.queue(1, 0, false, 1, Rank(0));
  order.queue(2, 0, true, 1, Rank(1));
  order.queue(3, 1, true, 1, Rank(0));
  CHECK(pairs(order).empty());
}

TEST_CASE("window: a barrier waits for all that runs and holds up all that follows",
          "[sim][lanes]") {
  detail::LaneOrder order(1, 1, 6);
  order.barrier(0, Rank(0));
  order.queue(1, 0, true, 0, Rank(0));
  order.queue(2, 0, false, 0, Rank(0));
  order.barrier(3, Rank(0));
  order.queue(4, 0, true, 0, Rank(0));
  order.queue(5, 0, true, 0, Rank(0));
  CHECK(pairs(order) == Pairs{{0, 1}, {0, 2}, {0, 3}, {1, 3}, {2, 3}, {3, 4}, {3, 5}});
}

TEST_CASE("window: two sends go one after the other, or together", "[sim][lanes]") {
  // 50 GB to each of two ranks from one port of 50 GB/s.
  PlanWriter plan(3);
  plan.transfer(0, 1, 50e9);
  plan.transfer(0, 2, 50e9);
  SECTION("one at a time: 0-1 s and 1-2 s") {
    const Timeline times = timeline(plan.schedule(), 1, 1);
    CHECK(times[0].end_s == Approx(1));
    CHECK(times[1].start_s == Approx(1));
    CHECK(times[1].end_s == Approx(2));
  }
  SECTION("two at a time, at 25 GB/s each: both end at 2 s") {
    const Timeline times = timeline(plan.schedule(), 2, 1);
    CHECK(times[0].end_s == Approx(2));
    CHECK(times[1].start_s == 0);
    CHECK(times[1].end_s == Approx(2));
  }
}

TEST_CASE("window: two receives go one after the other, too", "[sim][lanes]") {
  PlanWriter plan(3);
  plan.transfer(0, 2, 50e9);
  plan.transfer(1, 2, 50e9);
  const Timeline times = timeline(plan.schedule(), 2, 1);
  CHECK(times[0].end_s == Approx(1));
  CHECK(times[1].end_s == Approx(2));
}

TEST_CASE("window: a rank sends while it receives", "[sim][lanes]") {
  // Ports work both ways at once: 0 -> 1 and 1 -> 2 both take the first second. In rounds the
  // second would wait for the first.
  PlanWriter plan(3);
  plan.transfer(0, 1, 50e9);
  plan.transfer(1, 2, 50e9);
  const Timeline times = timeline(plan.schedule(), 1, 1);
  CHECK(times[0].end_s == Approx(1));
  CHECK(times[1].end_s == Approx(1));
}
