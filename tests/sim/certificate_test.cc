#include "sim/certificate.h"

#include <catch2/catch.hpp>

#include "schedule/plan_hash.h"
#include "sim/predict.h"
#include "tests/sim/parcels.h"
#include "tests/sim/plans.h"

using namespace refit;
using namespace refit::test;

namespace {

Certificate certified(const Schedule& schedule, const Cluster& cluster) {
  return certify(schedule, cluster, bound_of_refit(schedule.parcels, cluster),
                 predict(schedule, cluster).makespan_s);
}

// Single GPUs with a NIC of 50 GB/s; a message to another takes 5 us besides.
Cluster late_gpus(int gpus, FabricSpec fabric = {}) {
  return make_cluster({.nodes = gpus,
                       .gpus_per_node = 1,
                       .nvlink_domain_gpus = 1,
                       .nics_per_node = 1,
                       .nic_latency_s = 5e-6,
                       .fabric = fabric});
}

// What `bytes` from rank 0 to all others in turn would be: only the bounds matter here.
RefitBound one_to_all(const Cluster& cluster, std::int64_t bytes) {
  return bound_of_refit({parcel({Rank{0}}, ranks(1, cluster.gpus()), bytes)}, cluster);
}

}  // namespace

TEST_CASE("certificate: one transfer at line rate stands at its bound", "[sim][certificate]") {
  // 500 MB through NICs of 50 GB/s: 10 ms, whichever way.
  PlanWriter writer(2);
  writer.parcel({Rank{0}}, {Rank{1}}, 500 * kMB);
  writer.transfer(0, 1, 500 * kMB);
  const Certificate c = certified(writer.schedule(), lone_gpus(2));
  CHECK(c.bound_s == Approx(0.01));
  CHECK(c.wire_s == Approx(0.01));
  CHECK_FALSE(c.latency_dominates());
  REQUIRE(c.ratio());
  CHECK(*c.ratio() == Approx(1));
  CHECK(c.no_relay_bound_s == c.bound_s);
  CHECK(c.bound_by == "domain 1 ingress (NIC)");
  CHECK(c.chunk_bytes == 500'000'000);
  CHECK(c.relay_depth == 0);
  CHECK(c.fill_s == 0);
  CHECK(c.plan == plan_hash(writer.schedule()));
}

TEST_CASE("certificate: a chain of three sends is two relays deep", "[sim][certificate]") {
  // 0 -> 1 -> 2 -> 3, each send after the last: 3 x 2 ms, where 2 ms is the bound with relays and
  // 6 ms without. The last rank's first chunk of 100 MB waits for 2 x 100 MB / 50 GB/s = 4 ms.
  PlanWriter writer(4);
  writer.parcel({Rank{0}}, ranks(1, 4), 100 * kMB);
  OpId last = writer.transfer(0, 1, 100 * kMB);
  last = writer.transfer(1, 2, 100 * kMB, {.round = 1, .after = {last}});
  writer.transfer(2, 3, 100 * kMB, {.round = 2, .after = {last}});
  const Certificate c = certified(writer.schedule(), lone_gpus(4));
  CHECK(c.bound_s == Approx(2e-3));
  CHECK(*c.no_relay_bound_s == Approx(6e-3));
  CHECK(*c.ratio() == Approx(3));
  CHECK(c.relay_depth == 2);
  CHECK(c.fill_s == Approx(4e-3));
}

TEST_CASE("certificate: a chain goes on through NVLink, which is no relay and no chunk",
          "[sim][certificate]") {
  // Nodes of two GPUs: 0 -> 2 by NIC, 2 -> 3 inside the node (three times as large), 3 -> 4 by NIC.
  const Cluster cluster =
      make_cluster({.nodes = 3, .gpus_per_node = 2, .nvlink_domain_gpus = 2, .nics_per_node = 2});
  PlanWriter writer(6);
  writer.parcel({Rank{0}}, ranks(2, 5), 300 * kMB);
  OpId last = writer.transfer(0, 2, 100 * kMB);
  last = writer.transfer(2, 3, 300 * kMB, {.round = 1, .after = {last}});
  writer.transfer(3, 4, 50 * kMB, {.round = 2, .after = {last}});
  const Certificate c = certified(writer.schedule(), cluster);
  CHECK(c.relay_depth == 1);
  CHECK(c.chunk_bytes == 100'000'000);
  CHECK(c.fill_s == Approx(100e6 / 50e9));
}

TEST_CASE("certificate: the slowest NIC that takes part fills the pipeline", "[sim][certificate]") {
  // NICs of 50, 25 and 10 GB/s, one GPU each; two of every kind.
  ClusterSpec spec{{}, {{}}, {"here"}, {}};
  for (const double rate : {50e9, 25e9, 10e9}) {
    NodeGroupSpec group;
    group.name = "one";
    group.nodes = 2;
    group.gpus_per_node = group.nvlink_domain_gpus = group.nics_per_node = 1;
    group.nvlink_bytes_per_s = 450e9;
    group.nic_bytes_per_s = rate;
    spec.groups.push_back(group);
  }
  PlanWriter writer(6);
  writer.parcel({Rank{0}}, {Rank{1}, Rank{2}}, 100 * kMB);
  const OpId first = writer.transfer(0, 1, 100 * kMB);
  writer.transfer(1, 2, 100 * kMB, {.round = 1, .after = {first}});
  CHECK(certified(writer.schedule(), Cluster(spec)).fill_s == Approx(100e6 / 25e9));
}

TEST_CASE("certificate: where latency dominates there is no ratio", "[sim][certificate]") {
  // 400 x 5 us x 1 level = 2 ms, in which a NIC of 50 GB/s takes 100 MB.
  PlanWriter shorter(2), longer(2);
  shorter.parcel({Rank{0}}, {Rank{1}}, 99 * kMB);
  shorter.transfer(0, 1, 99 * kMB);
  longer.parcel({Rank{0}}, {Rank{1}}, 101 * kMB);
  longer.transfer(0, 1, 101 * kMB);
  const Certificate below = certified(shorter.schedule(), late_gpus(2));
  const Certificate above = certified(longer.schedule(), late_gpus(2));
  CHECK(below.least_compared_s() == Approx(2e-3));
  CHECK(below.latency_dominates());
  CHECK_FALSE(below.ratio());
  CHECK_FALSE(above.latency_dominates());
  CHECK(*above.ratio() == Approx(1));
}

TEST_CASE("certificate: relays that the bound needs count as levels", "[sim][certificate]") {
  // One GPU to n others: the bound is one copy's time, without relays n times that, and copies
  // double from send to send.
  CHECK(one_to_all(late_gpus(2), kMB).levels == 1);
  CHECK(one_to_all(late_gpus(3), kMB).levels == 2);
  CHECK(one_to_all(late_gpus(5), kMB).levels == 3);
  CHECK(one_to_all(late_gpus(6), kMB).levels == 4);
  CHECK(one_to_all(late_gpus(9), kMB).levels == 4);
}

TEST_CASE("certificate: latency is the largest between ranks that take part",
          "[sim][certificate]") {
  // Two nodes under a leaf; a trunk takes 2 us besides the NIC's 5.
  const FabricSpec leaves{.nodes_per_leaf = 2, .oversubscription = 2, .latency_s = 2e-6};
  const Cluster cluster = late_gpus(4, leaves);
  const auto latency = [&](int from, int to) {
    return bound_of_refit({parcel({Rank{from}}, {Rank{to}}, kMB)}, cluster).latency_s;
  };
  CHECK(latency(0, 1) == Approx(5e-6));
  CHECK(latency(0, 2) == Approx(7e-6));
  CHECK(latency(1, 3) == Approx(7e-6));
  // Neighbours inside a node never meet the network, through NVLink or through PCIe.
  const auto inside = [](int nvlink_domain_gpus) {
    const Cluster node = make_cluster({.nodes = 2,
                                       .gpus_per_node = 2,
                                       .nvlink_domain_gpus = nvlink_domain_gpus,
                                       .nics_per_node = 2,
                                       .nic_latency_s = 5e-6,
                                       .pcie_bytes_per_s = 32e9});
    return std::pair(bound_of_refit({parcel({Rank{0}}, {Rank{1}}, kMB)}, node).latency_s,
                     bound_of_refit({parcel({Rank{0}}, {Rank{1}, Rank{2}}, kMB)}, node).latency_s);
  };
  for (const int domain : {1, 2}) {
    CAPTURE(domain);
    CHECK(inside(domain).first == 0);
    CHECK(inside(domain).second == Approx(5e-6));
  }
}

TEST_CASE("certificate: kinds of nodes, sites and WAN links add to the latency",
          "[sim][certificate]") {
  NodeGroupSpec east;
  east.name = "east";
  east.nodes = 2;
  east.gpus_per_node = east.nvlink_domain_gpus = east.nics_per_node = 1;
  east.nvlink_bytes_per_s = 450e9;
  east.nic_bytes_per_s = 50e9;
  east.nic_latency_s = 5e-6;
  NodeGroupSpec west = east;
  west.site = 1;
  ClusterSpec spec{{east, west}, {{}, {}}, {"east", "west"}, {{0, 1, 10e9, 30e-3}}};
  const Parcel both = parcel({Rank{0}}, {Rank{1}, Rank{3}}, kMB);
  CHECK(bound_of_refit({both}, Cluster(spec)).latency_s == Approx(30.005e-3));
  // Sites that nothing joins are no route: each by itself.
  spec.wans.clear();
  const std::vector<Parcel> apart = {parcel({Rank{0}}, {Rank{1}}, kMB),
                                     parcel({Rank{2}}, {Rank{3}}, kMB)};
  CHECK(bound_of_refit(apart, Cluster(spec)).latency_s == Approx(5e-6));
}

TEST_CASE("certificate: plans with collectives are held against the cuts alone",
          "[sim][certificate]") {
  // Rank 2 takes in 100 MB of each of the others: 4 ms through its NIC of 50 GB/s.
  PlanWriter writer(3);
  const ParcelId a = writer.parcel({Rank{0}}, {Rank{1}, Rank{2}}, 100 * kMB);
  const ParcelId b = writer.parcel({Rank{1}}, {Rank{0}, Rank{2}}, 100 * kMB);
  writer.all_gather(writer.group(ranks(0, 3)), writer.cargo({a, b}), 200 * kMB);
  const Cluster cluster = lone_gpus(3);
  const Certificate c = certified(writer.schedule(), cluster);
  CHECK(c.bound_s == lower_bound(writer.schedule().parcels, cluster).seconds);
  CHECK(c.bound_s == Approx(4e-3));
  CHECK_FALSE(c.no_relay_bound_s);
  CHECK(c.chunk_bytes == 0);
  CHECK(c.relay_depth == 0);
  CHECK(c.fill_s == 0);
}

TEST_CASE("certificate: nothing to move has no ratio", "[sim][certificate]") {
  PlanWriter writer(1);
  writer.parcel({Rank{0}}, {Rank{0}}, kMB);
  const Certificate c = certified(writer.schedule(), lone_gpus(1));
  CHECK(c.bound_s == 0);
  CHECK_FALSE(c.ratio());
}
