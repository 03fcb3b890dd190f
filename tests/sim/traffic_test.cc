#include <catch2/catch.hpp>

#include "sim/traffic.h"
#include "tests/sim/plans.h"

using namespace refit;
using namespace refit::test;

TEST_CASE("traffic: each transfer counts by the kind of its route", "[sim][traffic]") {
  PlanWriter plan(16);
  plan.phases({{"one", 10}, {"two", 20}});
  plan.parcel({Rank{0}}, ranks(1, 3), 4'000'000'000);
  plan.transfer(0, 0, 1e9);                // device copy
  plan.transfer(0, 1, 2e9);                // NVLink
  plan.transfer(0, 8, 8e9, {.phase = 1});  // network
  const TrafficTotals totals = traffic_totals(plan.schedule(), make_cluster({}));
  REQUIRE(totals.local_bytes == 1e9);
  REQUIRE(totals.nvlink_bytes == 2e9);
  REQUIRE(totals.network_bytes == 8e9);
  REQUIRE(totals.node_bytes == 0);
  REQUIRE(totals.logical_bytes == 30);
  REQUIRE(totals.copies == 2);  // 8 GB over the network for 4 GB of content

  const std::vector<TrafficTotals> phases = phase_traffic(plan.schedule(), make_cluster({}));
  REQUIRE(phases.size() == 2);
  REQUIRE(phases[0].nvlink_bytes == 2e9);
  REQUIRE(phases[0].network_bytes == 0);
  REQUIRE(phases[0].logical_bytes == 10);
  REQUIRE(phases[1].network_bytes == 8e9);
  REQUIRE(phases[1].copies == 2);
}

TEST_CASE("traffic: PCIe inside a node is neither NVLink nor network", "[sim][traffic]") {
  const Cluster cluster = make_cluster({.nodes = 1,
                                        .gpus_per_node = 2,
                                        .nvlink_domain_gpus = 1,
                                        .nics_per_node = 2,
                                        .pcie_bytes_per_s = 20e9});
  PlanWriter plan(2);
  plan.transfer(0, 1, 3e9);
  const TrafficTotals totals = traffic_totals(plan.schedule(), cluster);
  REQUIRE(totals.node_bytes == 3e9);
  REQUIRE(totals.network_bytes == 0);
}

TEST_CASE("traffic: between domains, collectives too", "[sim][traffic]") {
  // Broadcast of 10 GB from rank 0 over 3 nodes: node 0 -> 1 -> 2, and 7 of 8 members get it
  // inside.
  PlanWriter plan(24);
  plan.broadcast(0, plan.group(ranks(0, 24)), 10e9);
  plan.transfer(16, 1, 5e9);
  const std::vector<double> matrix = domain_traffic(plan.schedule(), make_cluster({.nodes = 3}));
  const double expected[] = {70e9, 10e9, 0,     //
                             0,    70e9, 10e9,  //
                             5e9,  0,    70e9};
  REQUIRE(matrix.size() == 9);
  for (std::size_t i = 0; i < 9; ++i) {
    CAPTURE(i);
    REQUIRE(matrix[i] == Approx(expected[i]));
  }
}

TEST_CASE("traffic: work and barriers move nothing", "[sim][traffic]") {
  PlanWriter plan(4);
  const GroupId group = plan.group(ranks(0, 4));
  plan.compute(Work::land, group, 3, 5e9);
  plan.barrier(group);
  const TrafficTotals totals = traffic_totals(plan.schedule(), lone_gpus(4));
  REQUIRE(totals.network_bytes + totals.nvlink_bytes + totals.local_bytes == 0);
}
