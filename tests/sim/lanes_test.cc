#include <catch2/catch.hpp>

#include "sim/detail/lane_order.h"
#include "sim/predict.h"
#include "tests/sim/plans.h"

using namespace refit;
using namespace refit::test;

namespace {

constexpr int kNet = 0;  // lanes of the relay
constexpr int kNvlink = 1;
constexpr double kExact = 1e-9;

NetworkModel with_latency() {
  NetworkModel model = wire_only();
  model.latencies = true;
  return model;
}

double makespan(const Schedule& schedule, const Cluster& cluster) {
  const auto solver = GENERATE(Solver::native, Solver::incremental);
  return predict(schedule, cluster, {with_latency(), solver}).makespan_s;
}

// Rank 0 sends chunks to rank 8 of the other domain, which forwards each to its followers.
Schedule relay(int chunks, int followers, double chunk_bytes) {
  PlanWriter plan(16, 2);
  for (int c = 0; c < chunks; ++c) {
    const OpId got = plan.transfer(0, 8, chunk_bytes, {.lane = kNet, .round = c});
    for (int f = 1; f <= followers; ++f) {
      plan.transfer(8, 8 + f, chunk_bytes, {.lane = kNvlink, .round = c, .after = {got}});
    }
  }
  return plan.schedule();
}

Cluster relay_cluster() { return make_cluster({.nic_latency_s = 10e-6, .nvlink_latency_s = 2e-6}); }

}  // namespace

TEST_CASE("relay: one chunk is stored, then forwarded", "[sim][pipeline]") {
  // 50 MB: (50e6 / 50e9 + 10 us) + (50e6 / 450e9 + 2 us) = 1.010 + 0.113111 ms
  REQUIRE(makespan(relay(1, 1, 50e6), relay_cluster()) == Approx(1.1231111111e-3).epsilon(kExact));
  // 200 MB in one piece: 4.010 + 0.446444 ms
  REQUIRE(makespan(relay(1, 1, 200e6), relay_cluster()) == Approx(4.4564444444e-3).epsilon(kExact));
}

TEST_CASE("relay: followers overlap with the network after the first chunk", "[sim][pipeline]") {
  // 4 * (50e6 / 50e9 + 10 us)   the network never waits
  //   + (50e6 / 450e9 + 2 us)   the last chunk's forward
  REQUIRE(makespan(relay(4, 1, 50e6), relay_cluster()) == Approx(4.1531111111e-3).epsilon(kExact));
  // Three followers share the leader's port: 4.040 + 3 * 0.111111 + 0.002 ms
  REQUIRE(makespan(relay(4, 3, 50e6), relay_cluster()) == Approx(4.3753333333e-3).epsilon(kExact));
}

TEST_CASE("relay: a chain of domains passes chunks on like a pipe", "[sim][pipeline]") {
  // 4 domains of one GPU, 3 hops, 5 chunks of 50 MB: (5 + 3 - 1) * (1 ms + 10 us)
  PlanWriter plan(4, 2);
  for (int c = 0; c < 5; ++c) {
    std::vector<OpId> got;
    for (int hop = 0; hop < 3; ++hop) {
      // Neighbouring hops use different lanes, so that a rank sends one chunk while it gets the
      // next.
      got = {
          plan.transfer(hop, hop + 1, 50e6, {.lane = hop % 2, .round = c * 3 + hop, .after = got})};
    }
  }
  const Cluster cluster = make_cluster({.nodes = 4,
                                        .gpus_per_node = 1,
                                        .nvlink_domain_gpus = 1,
                                        .nics_per_node = 1,
                                        .nic_latency_s = 10e-6});
  REQUIRE(makespan(plan.schedule(), cluster) == Approx(7 * 1.01e-3).epsilon(kExact));
}

TEST_CASE("lanes: rounds queue on a rank, ops of one round run together", "[sim][lanes]") {
  PlanWriter plan(4);
  plan.transfer(0, 1, 50e9, {.round = 0});
  plan.transfer(0, 2, 50e9, {.round = 0});
  plan.transfer(0, 3, 50e9, {.round = 1});
  plan.transfer(2, 3, 50e9, {.round = 2});
  const Prediction p = predict(plan.schedule(), lone_gpus(4));
  REQUIRE(p.timeline[0].end_s == Approx(2));    // 25 GB/s each
  REQUIRE(p.timeline[2].start_s == Approx(2));  // waits for both
  REQUIRE(p.timeline[2].end_s == Approx(3));
  REQUIRE(p.timeline[3].start_s ==
          Approx(3));  // rank 3 takes part in round 1, so its round 2 waits
}

TEST_CASE("lanes: a rank that a round does not concern does not wait for it", "[sim][lanes]") {
  PlanWriter plan(4);
  plan.transfer(0, 1, 50e9, {.round = 0});
  plan.transfer(2, 3, 50e9, {.round = 7});
  REQUIRE(predict(plan.schedule(), lone_gpus(4)).timeline[1].start_s == 0);
}

TEST_CASE("lanes: two lanes on one rank run side by side", "[sim][lanes]") {
  PlanWriter plan(3, 2);
  plan.transfer(0, 1, 50e9, {.lane = 0, .round = 0});
  plan.transfer(2, 0, 50e9, {.lane = 1, .round = 5});
  REQUIRE(predict(plan.schedule(), lone_gpus(3)).makespan_s == Approx(1));
}

TEST_CASE("lanes: a barrier waits for its members on every lane, and all later ops for it",
          "[sim][lanes]") {
  PlanWriter plan(6, 2);
  plan.transfer(0, 1, 50e9, {.lane = 0});
  plan.transfer(0, 2, 100e9, {.lane = 1});  // 3 s: 25 GB/s for 2 s, then 50 GB/s
  const OpId barrier = plan.barrier(plan.group({Rank{0}, Rank{4}}));
  plan.transfer(4, 5, 50e9, {.lane = 1, .round = 0});  // after the barrier
  plan.transfer(3, 1, 50e9, {.lane = 1, .round = 0});  // no member: free to go
  const Prediction p = predict(plan.schedule(), lone_gpus(6));
  REQUIRE(p.timeline[barrier.index()].end_s == Approx(3));
  REQUIRE(p.timeline[3].start_s == Approx(3));
  REQUIRE(p.timeline[4].start_s == 0);
}

TEST_CASE("lane order: a chain of group ops over many ranks costs one edge per op",
          "[sim][lanes]") {
  constexpr int kRanks = 1000;
  detail::LaneOrder order(kRanks, 1, 10);
  for (detail::TaskId op = 0; op < 10; ++op) {
    for (int r = 0; r < kRanks; ++r) order.place(op, 0, static_cast<std::int32_t>(op), Rank{r});
  }
  REQUIRE(order.edges().size() == 9);
  REQUIRE(order.tasks() == 10);  // no junction
}

TEST_CASE("lane order: ranks whose rounds hold the same ops share one junction", "[sim][lanes]") {
  constexpr int kRanks = 1000;
  detail::LaneOrder order(kRanks, 1, 3);
  for (detail::TaskId op = 0; op < 3; ++op) {
    // Ops 0 and 1 in round 0, op 2 in round 1.
    for (int r = 0; r < kRanks; ++r) order.place(op, 0, op == 2 ? 1 : 0, Rank{r});
  }
  REQUIRE(order.tasks() == 4);         // one junction
  REQUIRE(order.edges().size() == 3);  // 0 -> junction, 1 -> junction, junction -> 2
}

TEST_CASE("lane order: junctions are kept apart where rounds differ", "[sim][lanes]") {
  // Round 0: rank 0 has ops 0 and 1, rank 1 has ops 0 and 2. Op 3 follows on both.
  detail::LaneOrder order(2, 1, 4);
  order.place(0, 0, 0, Rank{0});
  order.place(0, 0, 0, Rank{1});
  order.place(1, 0, 0, Rank{0});
  order.place(2, 0, 0, Rank{1});
  order.place(3, 0, 1, Rank{0});
  order.place(3, 0, 1, Rank{1});
  REQUIRE(order.tasks() == 6);
  REQUIRE(order.edges().size() == 6);
}
