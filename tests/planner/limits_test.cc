// Plans under limits: each limit is kept, or refused with what is nearest, and none is free.
#include <catch2/catch.hpp>

#include <set>

#include "planner/plan.h"
#include "schedule/verify.h"
#include "sim/predict.h"
#include "tests/models/check_fails.h"
#include "tests/support/m2n_case.h"

namespace refit::test {
namespace {

// Two sources of a domain send 512 MB each to 8 replicas of 2 shards in domains of 4 ranks.
const M2nCase kCase{{1, 2, 0}, {8, 2, 1}, {4096, 1 << 18}, Dtype::u8, 4};

Schedule optimal(const PlanLimits& limits) {
  PlanOptions options;
  options.limits = limits;
  const Refit refit = make_refit(kCase);
  Schedule schedule = plan(refit, make_cluster(kCase), named_policy("optimal"), options);
  REQUIRE(verify(schedule, refit).empty());
  return schedule;
}

double seconds(const Schedule& schedule) {
  return predict(schedule, make_cluster(kCase)).makespan_s;
}

PlanNeeds needs(const Schedule& schedule) {
  const Cluster cluster = make_cluster(kCase);
  return plan_needs(schedule, make_refit(kCase), cluster, predict(schedule, cluster).timeline);
}

}  // namespace

TEST_CASE("limits: needs are counted on the rank that takes most", "[planner][limits]") {
  // S0 -> D0 -> D1 over one lane each: D0 has two transfers, two lanes, one peer over the network.
  const M2nCase c{{1, 1, 0}, {2, 1, 0}, {64}, Dtype::u8, 2};
  const Schedule schedule =
      plan(make_refit(c), make_cluster(c), named_policy("reshard"), {.chunks = 1});
  const Cluster cluster = make_cluster(c);
  const PlanNeeds found =
      plan_needs(schedule, make_refit(c), cluster, predict(schedule, cluster).timeline);
  CHECK(found.ops == 2);
  CHECK(found.communicators == 2);
  CHECK(found.peers == 1);
}

TEST_CASE("limits: fewer ops, peers or communicators cost time and are kept", "[planner][limits]") {
  const Schedule free = optimal({});
  const PlanNeeds most = needs(free);
  const double best_s = seconds(free);

  SECTION("ops") {
    PlanLimits limits;
    limits.ops = most.ops / 8;
    const Schedule schedule = optimal(limits);
    CHECK(needs(schedule).ops <= *limits.ops);
    CHECK(seconds(schedule) > best_s);
  }
  SECTION("peers") {
    PlanLimits limits;
    limits.peers = most.peers - 2;
    CHECK(needs(optimal(limits)).peers <= *limits.peers);
  }
  SECTION("communicators") {
    REQUIRE(most.communicators > 1);
    PlanLimits limits;
    limits.communicators = 1;
    const Schedule schedule = optimal(limits);
    CHECK(needs(schedule).communicators == 1);
    CHECK(seconds(schedule) >= best_s);
  }
  SECTION("extra memory") {
    // One communicator less is 134 MB less, whatever the chunks.
    PlanLimits limits;
    limits.extra_memory_bytes = static_cast<std::int64_t>(most.extra_memory_bytes);
    CHECK(needs(optimal(limits)).extra_memory_bytes <= most.extra_memory_bytes);
    limits.extra_memory_bytes = 1 << 20;
    CHECK_THROWS_WITH(optimal(limits),
                      Catch::Contains("extra memory ") && Catch::EndsWith(" of 1.05 MB per rank"));
  }
}

TEST_CASE("limits: a plan that leaves half of each NIC to others takes twice as long",
          "[planner][limits]") {
  PlanLimits limits;
  limits.nic_bytes_per_s = 25e9;  // of 50
  const Schedule schedule = optimal(limits);
  CHECK(schedule.caps.nic_bytes_per_s == 25e9);
  CHECK(seconds(schedule) == Approx(2 * seconds(optimal({}))).epsilon(0.02));
}

TEST_CASE("limits: one thread block at 24 GB/s is what a NIC gives then", "[planner][limits]") {
  PlanLimits limits;
  limits.ctas = 1;
  const Schedule schedule = optimal(limits);
  CHECK(schedule.ctas == 1);
  CHECK(schedule.caps == LinkCaps{24e9, 24e9});
  limits.nic_bytes_per_s = 10e9;
  CHECK(limits.caps() == LinkCaps{10e9, 24e9});
}

TEST_CASE("limits: what cannot be kept is refused with the nearest", "[planner][limits]") {
  PlanLimits limits;
  limits.ops = 1;
  CHECK_THROWS_WITH(
      optimal(limits),
      Catch::StartsWith("optimal: no plan keeps the limits; the nearest takes ops ") &&
          Catch::EndsWith(" of 1 per rank"));
}

}  // namespace refit::test
