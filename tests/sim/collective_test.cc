#include <catch2/catch.hpp>

#include "base/error.h"
#include "sim/predict.h"
#include "sim/traffic.h"
#include "tests/sim/plans.h"

using namespace refit;
using namespace refit::test;

namespace {

constexpr double kExact = 1e-9;

double makespan(const Schedule& schedule, const Cluster& cluster) {
  return predict(schedule, cluster).makespan_s;
}

// `width` columns; each rank of the first row owns an equal share, the bytes are the whole.
Schedule even_gather(int members, int width, double bytes) {
  PlanWriter plan(members);
  std::vector<ParcelId> parcels;
  for (int r = 0; r < width; ++r) {
    parcels.push_back(
        plan.parcel({Rank{r}}, ranks(0, members), static_cast<std::int64_t>(bytes / width)));
  }
  plan.all_gather(plan.group(ranks(0, members), width), plan.cargo(parcels), bytes);
  return plan.schedule();
}

}  // namespace

TEST_CASE("all-gather: a ring inside a domain moves (n-1)/n of the bytes over each port",
          "[sim][collective]") {
  // 8 ranks, 450 GB, 450 GB/s: 7/8 s
  REQUIRE(makespan(even_gather(8, 8, 450e9), make_cluster({.nodes = 1})) ==
          Approx(0.875).epsilon(kExact));
}

TEST_CASE("all-gather: a ring of domains is limited by what each domain lacks",
          "[sim][collective]") {
  // 4 nodes of 8 NICs: each domain lacks 3/4 of 400 GB and takes it over 8 * 50 GB/s: 0.75 s. Its
  // NVLink is faster: a member gets (1 - 1/32 - 3/4/8) * 400 GB = 350 GB at 450 GB/s.
  const Schedule schedule = even_gather(32, 32, 400e9);
  const Cluster cluster = make_cluster({.nodes = 4});
  REQUIRE(makespan(schedule, cluster) == Approx(350.0 / 450).epsilon(kExact));
  const Cluster fast_nvlink = make_cluster({.nodes = 4, .nvlink_bytes_per_s = 900e9});
  REQUIRE(makespan(schedule, fast_nvlink) == Approx(0.75).epsilon(kExact));
  const TrafficTotals totals = traffic_totals(schedule, cluster);
  REQUIRE(totals.network_bytes == Approx(4 * 0.75 * 400e9));
  // Every rank ends with 400 GB, of which it owned 1/32: all else came in by NIC or NVLink.
  REQUIRE(totals.network_bytes + totals.nvlink_bytes == Approx(32 * 400e9 * 31 / 32));
}

TEST_CASE("all-gather: GPUs that share a NIC count it once", "[sim][collective]") {
  // 2 nodes of 4 GPUs and 1 NIC: each node lacks half of 100 GB: 50 / 50 GB/s
  const Cluster cluster =
      make_cluster({.nodes = 2, .gpus_per_node = 4, .nvlink_domain_gpus = 4, .nics_per_node = 1});
  REQUIRE(makespan(even_gather(8, 8, 100e9), cluster) == Approx(1).epsilon(kExact));
}

TEST_CASE("all-gather: columns come down the pipeline stages before rows gather",
          "[sim][collective]") {
  // 2 stages of 2 columns on lone GPUs, all owned by stage 0, half per column, 100 GB:
  //   ranks 0 -> 2 and 1 -> 3 carry 50 GB each; the rows 0 <-> 1 and 2 <-> 3 carry 50 GB each way.
  //   So ranks 0 and 1 send 100 GB, ranks 2 and 3 receive 100 GB, at 50 GB/s: 2 s
  const Schedule schedule = even_gather(4, 2, 100e9);
  const Cluster cluster = lone_gpus(4);
  REQUIRE(makespan(schedule, cluster) == Approx(2).epsilon(kExact));
  const Prediction p = predict(schedule, cluster);
  const double out[] = {100e9, 100e9, 50e9, 50e9};
  const double in[] = {50e9, 50e9, 100e9, 100e9};
  for (int r = 0; r < 4; ++r) {
    CAPTURE(r);
    REQUIRE(p.link_bytes[cluster.nic_out(Rank{r}).index()] == Approx(out[r]));
    REQUIRE(p.link_bytes[cluster.nic_in(Rank{r}).index()] == Approx(in[r]));
  }
}

TEST_CASE("all-gather: the home of a parcel is the stage that owns it", "[sim][collective]") {
  // As above, but stage 1 owns all: everything is turned round.
  PlanWriter plan(4);
  const ParcelId left = plan.parcel({Rank{2}}, ranks(0, 4), 50'000'000'000);
  const ParcelId right = plan.parcel({Rank{3}}, ranks(0, 4), 50'000'000'000);
  plan.all_gather(plan.group(ranks(0, 4), 2), plan.cargo({left, right}), 100e9);
  const Cluster cluster = lone_gpus(4);
  const Prediction p = predict(plan.schedule(), cluster);
  REQUIRE(p.link_bytes[cluster.nic_out(Rank{2}).index()] == Approx(100e9));
  REQUIRE(p.link_bytes[cluster.nic_out(Rank{0}).index()] == Approx(50e9));
}

TEST_CASE("all-gather: what a domain owns several times does not cross its border",
          "[sim][collective]") {
  // Ranks 0 and 1 (one domain) both own all 90 GB; ranks 2 and 3 (the other) lack it: 90 GB over
  // two NICs of 50 GB/s, 0.9 s, and half of it to each over NVLink.
  PlanWriter plan(4);
  const ParcelId parcel = plan.parcel({Rank{0}, Rank{1}}, ranks(2, 4), 90'000'000'000);
  plan.all_gather(plan.group(ranks(0, 4)), plan.cargo({parcel}), 90e9);
  const Cluster cluster =
      make_cluster({.nodes = 2, .gpus_per_node = 2, .nvlink_domain_gpus = 2, .nics_per_node = 2});
  const Prediction p = predict(plan.schedule(), cluster);
  REQUIRE(p.makespan_s == Approx(0.9).epsilon(kExact));
  REQUIRE(p.link_bytes[cluster.nvlink_in(Rank{0})->index()] == 0);
  REQUIRE(p.link_bytes[cluster.nvlink_in(Rank{2})->index()] == Approx(45e9));
  REQUIRE(p.link_bytes[cluster.nic_in(Rank{0}).index()] == 0);
}

TEST_CASE("all-gather: a width that is no divisor is refused", "[sim][collective]") {
  PlanWriter plan(4);
  const ParcelId parcel = plan.parcel({Rank{0}}, ranks(1, 4), 100);
  plan.all_gather(plan.group(ranks(0, 4), 3), plan.cargo({parcel}), 100);
  REQUIRE_THROWS_WITH(predict(plan.schedule(), lone_gpus(4)),
                      "group 0: width 3 does not divide its 4 ranks");
}

TEST_CASE("broadcast: a chain of lone GPUs takes the time of one hop", "[sim][collective]") {
  PlanWriter plan(5);
  plan.broadcast(2, plan.group(ranks(0, 5)), 50e9);
  REQUIRE(makespan(plan.schedule(), lone_gpus(5)) == Approx(1).epsilon(kExact));
}

TEST_CASE("broadcast: all NICs of a node carry the stream", "[sim][collective]") {
  // 400 GB into each of 2 nodes over 8 * 50 GB/s: 1 s; NVLink carries 7/8 of it per member, 0.78 s.
  PlanWriter plan(24);
  plan.broadcast(0, plan.group(ranks(0, 24)), 400e9);
  const Cluster cluster = make_cluster({.nodes = 3});
  const Prediction p = predict(plan.schedule(), cluster);
  REQUIRE(p.makespan_s == Approx(1).epsilon(kExact));
  REQUIRE(p.link_bytes[cluster.nvlink_in(Rank{0})->index()] == 0);
  REQUIRE(p.link_bytes[cluster.nvlink_in(Rank{1})->index()] == Approx(400e9));
  REQUIRE(p.link_bytes[cluster.nvlink_in(Rank{9})->index()] == Approx(350e9));
  REQUIRE(p.link_bytes[cluster.nvlink_out(Rank{0})->index()] == Approx(350e9));
  const TrafficTotals totals = traffic_totals(plan.schedule(), cluster);
  REQUIRE(totals.network_bytes == Approx(2 * 400e9));
  REQUIRE(totals.network_bytes + totals.nvlink_bytes == Approx(23 * 400e9));  // all but the root
}

TEST_CASE("broadcast: a domain that the root does not share is the end of the chain",
          "[sim][collective]") {
  // Group order 1, 0: the root's domain comes first all the same, so rank 1 only receives.
  PlanWriter plan(2);
  plan.broadcast(0, plan.group({Rank{1}, Rank{0}}), 50e9);
  const Cluster cluster = lone_gpus(2);
  const Prediction p = predict(plan.schedule(), cluster);
  REQUIRE(p.link_bytes[cluster.nic_out(Rank{0}).index()] == 50e9);
  REQUIRE(p.link_bytes[cluster.nic_out(Rank{1}).index()] == 0);
}

TEST_CASE("broadcast: a root outside the group sends to all of it", "[sim][collective]") {
  PlanWriter plan(3);
  plan.broadcast(0, plan.group(ranks(1, 3)), 50e9, {.round = 0});
  plan.transfer(0, 1, 50e9, {.round = 1});  // the root's lane waits for its broadcast
  REQUIRE(makespan(plan.schedule(), lone_gpus(3)) == Approx(2).epsilon(kExact));
}

TEST_CASE("collectives: the first byte's way is their latency", "[sim][collective]") {
  NetworkModel model = wire_only();
  model.latencies = true;
  ClusterShape shape{.nodes = 2, .gpus_per_node = 4, .nvlink_domain_gpus = 4, .nics_per_node = 4};
  shape.nic_latency_s = 10e-6;
  shape.nvlink_latency_s = 2e-6;
  const Cluster cluster = make_cluster(shape);
  SECTION("broadcast: 3 NVLink hops, 1 NIC hop, 3 NVLink hops") {
    PlanWriter plan(8);
    plan.broadcast(0, plan.group(ranks(0, 8)), 0);
    REQUIRE(predict(plan.schedule(), cluster, {model, std::nullopt}).makespan_s ==
            Approx(22e-6).epsilon(kExact));
  }
  SECTION("all-gather: the ring of 8 less its last hop between nodes") {
    PlanWriter plan(8);
    std::vector<ParcelId> parcels;
    for (int r = 0; r < 8; ++r) parcels.push_back(plan.parcel({Rank{r}}, ranks(0, 8), 1000));
    plan.all_gather(plan.group(ranks(0, 8)), plan.cargo(parcels), 0);
    REQUIRE(predict(plan.schedule(), cluster, {model, std::nullopt}).makespan_s ==
            Approx(22e-6).epsilon(kExact));
  }
}

TEST_CASE("collectives: two on the same ports share them", "[sim][collective]") {
  // Two broadcasts of 50 GB over the chain 0 -> 1 -> 2 at once: 25 GB/s each.
  PlanWriter plan(3);
  const GroupId group = plan.group(ranks(0, 3));
  plan.broadcast(0, group, 50e9);
  plan.broadcast(0, group, 50e9);
  const auto solver = GENERATE(Solver::native, Solver::incremental);
  REQUIRE(predict(plan.schedule(), lone_gpus(3), {wire_only(), solver}).makespan_s ==
          Approx(2).epsilon(kExact));
}

TEST_CASE(
    "collectives: weights that no repeated link can stand for are refused by the native solver",
    "[sim][collective]") {
  // 3 NICs feed 2 and NVLink carries other shares: 1/3, 2/3 and 1/2.
  PlanWriter plan(16);
  std::vector<Rank> members = ranks(0, 3);
  members.push_back(Rank{8});
  members.push_back(Rank{9});
  plan.broadcast(0, plan.group(members), 10e9);
  const PredictOptions native{wire_only(), Solver::native};
  REQUIRE_THROWS_WITH(predict(plan.schedule(), make_cluster({}), native),
                      Catch::Contains("use the incremental solver"));
  REQUIRE(predict(plan.schedule(), make_cluster({})).makespan_s > 0);
}
