#include "sim/flow_bound.h"

#include <algorithm>
#include <random>

#include <catch2/catch.hpp>

#include "planner/plan.h"
#include "scenarios/scenario.h"
#include "sim/detail/orbits.h"
#include "sim/predict.h"
#include "tests/sim/parcels.h"
#include "tests/sim/plans.h"
#include "tests/support/m2n_case.h"

using namespace refit;
using namespace refit::test;

namespace {

const char* const kProgram = "egress of all islands together (linear program)";

// An island of one GPU per rate, in GB/s each way.
Cluster islands(const std::vector<double>& gb_per_s) {
  ClusterSpec spec{{}, {{}}, {"here"}, {}};
  for (const double rate : gb_per_s) {
    NodeGroupSpec group;
    group.name = "island";
    group.nodes = group.gpus_per_node = group.nvlink_domain_gpus = group.nics_per_node = 1;
    group.nvlink_bytes_per_s = 450e9;
    group.nic_bytes_per_s = rate * 1e9;
    spec.groups.push_back(group);
  }
  return Cluster(spec);
}

}  // namespace

TEST_CASE("flow bound: equals the closed form where one cut binds", "[sim][bound]") {
  // 800 GB from node 0 into node 1 over 8 NICs of 50 GB/s: 2 s, with relays and without.
  std::vector<Parcel> parcels;
  for (int r = 0; r < 8; ++r) parcels.push_back(parcel({Rank{r}}, ranks(8, 16), 100 * kGB));
  const FlowBound bound = flow_bound(parcels, make_cluster(ClusterShape{}));
  CHECK(bound.seconds == Approx(2));
  CHECK(bound.no_relay_seconds == Approx(2));
  CHECK(bound.binding == "domain 1 ingress (NIC)");
  CHECK(bound.cuts.seconds == Approx(2));
}

TEST_CASE("flow bound: one node to eight takes eight times as long without relays",
          "[sim][bound]") {
  // 400 GB leave node 0 over 8 NICs of 50 GB/s: once 1 s, eight times 8 s. With relays all nine
  // nodes send 3,200 GB together at 3,600 GB/s, 0.89 s: once is what binds.
  const FlowBound bound = flow_bound({parcel(ranks(0, 8), ranks(8, 72), 400 * kGB)},
                                     make_cluster(ClusterShape{.nodes = 9}));
  CHECK(bound.seconds == Approx(1));
  CHECK(bound.no_relay_seconds == Approx(8));
  REQUIRE(bound.first_copy_shares.size() == 1);
  CHECK(bound.first_copy_shares.front() == std::vector<double>{1.0});
}

TEST_CASE("flow bound: two slow owners are not helped by a third that owns something else",
          "[sim][bound]") {
  // Islands 0 and 1 (10 and 50 GB/s) own 300 GB, island 2 (200 GB/s) owns 1 GB; island 3 (400 GB/s)
  // wants it all.
  //   closed form  (300 + 1) / (10 + 50 + 200) = 1.1577 s, the way out of all owners
  //   program      300 / (10 + 50) = 5 s, of which island 0 sends 1/6
  const FlowBound bound = flow_bound(
      {parcel({Rank{0}, Rank{1}}, {Rank{3}}, 300 * kGB), parcel({Rank{2}}, {Rank{3}}, kGB)},
      islands({10, 50, 200, 400}));
  CHECK(bound.cuts.seconds == Approx(301.0 / 260));
  CHECK(bound.seconds == Approx(5));
  CHECK(bound.no_relay_seconds == Approx(5));
  CHECK(bound.binding == kProgram);
  REQUIRE(bound.first_copy_shares.size() == 2);
  CHECK(bound.first_copy_shares[0][0] == Approx(1.0 / 6));
  CHECK(bound.first_copy_shares[0][1] == Approx(5.0 / 6));
  CHECK(bound.first_copy_shares[1] == std::vector<double>{1.0});
}

TEST_CASE("flow bound: who receives can send on only as fast as it sends", "[sim][bound]") {
  // Island 0 (100 GB/s) owns 300 GB that islands 1-3 want; those also send 500 GB each to island 4,
  // which is as fast as it likes. Rates of 100 GB/s: 900 GB more have to be sent by islands 0-3,
  //   (900 + 3 * 500) / 400 = 6 s;  island 0 alone 3 s, islands 1-3 alone 5 s, their ingress 3 s.
  // Without relays island 0 needs 9 s.
  const std::vector<Parcel> parcels{parcel({Rank{0}}, {Rank{1}, Rank{2}, Rank{3}}, 300 * kGB),
                                    parcel({Rank{1}}, {Rank{4}}, 500 * kGB),
                                    parcel({Rank{2}}, {Rank{4}}, 500 * kGB),
                                    parcel({Rank{3}}, {Rank{4}}, 500 * kGB)};
  const FlowBound bound = flow_bound(parcels, islands({100, 100, 100, 100, 1000}));
  CHECK(bound.cuts.seconds == Approx(5));
  CHECK(bound.seconds == Approx(6));
  CHECK(bound.no_relay_seconds == Approx(9));
}

TEST_CASE("flow bound: content that is already there asks for nothing", "[sim][bound]") {
  const FlowBound bound =
      flow_bound({parcel({Rank{0}, Rank{1}}, {Rank{0}, Rank{1}}, kGB)}, lone_gpus(2));
  CHECK(bound.seconds == 0);
  CHECK(bound.no_relay_seconds == 0);
}

TEST_CASE("flow bound: a pod may take a copy in twice to spare its islands", "[sim][bound]") {
  // Three pods of two islands of 50 GB/s, trunks hardly narrower than the NICs. Island 2 sends
  // 200 GB to 4 and island 3 200 GB to 5: 4 s. Both want 100 GB of island 0, which can send it to
  // each in those 4 s; if one had to hand it to the other, it would be (400 + 100) / 100 = 5 s.
  ClusterShape shape{.nodes = 6, .gpus_per_node = 1, .nvlink_domain_gpus = 1, .nics_per_node = 1};
  shape.fabric = {.nodes_per_leaf = 2, .oversubscription = 1.001};
  const FlowBound bound =
      flow_bound({parcel({Rank{0}}, {Rank{2}, Rank{3}}, 100 * kGB),
                  parcel({Rank{2}}, {Rank{4}}, 200 * kGB), parcel({Rank{3}}, {Rank{5}}, 200 * kGB)},
                 make_cluster(shape));
  CHECK(bound.seconds == Approx(4.004));  // 400 GB out of the pod at 100 / 1.001 GB/s
}

TEST_CASE("flow bound: owners behind a narrow trunk are slower than their NICs", "[sim][bound]") {
  // Pods of two islands; trunks of 2 * 50 / 4 = 25 GB/s. Pods 0 and 1 own 100 GB that islands 4 and
  // 5 of pod 2 want; pod 0 also owns 100 GB for pod 3, alone. Pods 0 and 1 send 200 GB at 50 GB/s
  // together: 4 s, as each pod alone.
  ClusterShape shape{.nodes = 8, .gpus_per_node = 1, .nvlink_domain_gpus = 1, .nics_per_node = 1};
  shape.fabric = {.nodes_per_leaf = 2, .oversubscription = 4};
  std::vector<Parcel> parcels{parcel({Rank{0}, Rank{2}}, {Rank{4}, Rank{5}}, 100 * kGB),
                              parcel({Rank{0}}, {Rank{6}}, 100 * kGB)};
  CHECK(flow_bound(parcels, make_cluster(shape)).seconds == Approx(4));
  // Another 100 GB that both own, for pod 3: 300 GB out at 50 GB/s, 6 s; into pod 3 200 GB, 8 s.
  parcels.push_back(parcel({Rank{0}, Rank{2}}, {Rank{7}}, 100 * kGB));
  CHECK(flow_bound(parcels, make_cluster(shape)).seconds == Approx(8));
}

TEST_CASE("flow bound: an island does not serve itself inside its pod", "[sim][bound]") {
  // Pods of two islands whose trunks carry a quarter. Islands 0 (200 GB/s) and 2 (50 GB/s) own 300
  // GB that island 3 (400 GB/s) wants: 50 GB/s come from 2 and (200 + 200) / 4 = 100 by the trunk.
  ClusterSpec spec = islands({200, 200, 50, 400}).spec();
  spec.fabrics[0] = {.nodes_per_leaf = 2, .oversubscription = 4};
  const FlowBound bound =
      flow_bound({parcel({Rank{0}, Rank{2}}, {Rank{3}}, 300 * kGB)}, Cluster(spec));
  CHECK(bound.seconds == Approx(2));
}

TEST_CASE("orbits: a ring's islands are equals, and a chain's are all different", "[sim][bound]") {
  // Each of 7 islands sends 1 GB to the next. In the chain an island is told by its distance from
  // the ends, which takes several rounds to find out.
  std::vector<Parcel> parcels;
  for (int i = 0; i < 6; ++i) parcels.push_back(parcel({Rank{i}}, {Rank{i + 1}}, kGB));
  const auto orbits = [&] { return detail::find_orbits(domain_classes(parcels, lone_gpus(7))); };
  CHECK(orbits().islands_of_colour == std::vector<int>(7, 1));
  CHECK(orbits().classes_of_orbit == std::vector<int>(6, 1));
  parcels.push_back(parcel({Rank{6}}, {Rank{0}}, kGB));
  CHECK(orbits().islands_of_colour == std::vector<int>{7});
  CHECK(orbits().classes_of_orbit == std::vector<int>{7});
  // One class of another size makes the ring a chain.
  parcels.back().bytes = 2 * kGB;
  CHECK(orbits().islands_of_colour == std::vector<int>(7, 1));
}

TEST_CASE("flow bound: one of equals stands for all", "[sim][bound]") {
  const unsigned first = GENERATE(as<unsigned>{}, 1, 11, 21, 31, 41);
  for (unsigned seed = first; seed < first + 10; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
    const std::vector<double> rates{25, 50, 100};
    std::vector<double> of_island(4 + below(12));
    for (double& rate : of_island) rate = rates[below(below(2) == 0 ? 1 : 3)];
    const auto some = [&](std::size_t most) {
      std::vector<Rank> chosen;
      const std::size_t begin = below(of_island.size()), count = 1 + below(most);
      for (std::size_t i = 0; i < count; ++i)
        chosen.emplace_back(static_cast<int>((begin + i) % of_island.size()));
      std::sort(chosen.begin(), chosen.end());
      chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
      return chosen;
    };
    std::vector<Parcel> parcels;
    for (std::size_t n = 3 + below(20); n > 0; --n) {
      parcels.push_back(parcel(some(3), some(6), (1 + static_cast<std::int64_t>(below(3))) * kGB));
    }
    const Cluster cluster = islands(of_island);
    const FlowBound with = flow_bound(parcels, cluster),
                    all = flow_bound(parcels, cluster, {false});
    CHECK(with.seconds == Approx(all.seconds).epsilon(1e-6));
    CHECK(with.no_relay_seconds == Approx(all.no_relay_seconds).epsilon(1e-6));
    CHECK(with.seconds >= with.cuts.seconds);
    CHECK(with.no_relay_seconds >= with.seconds);
  }
}

TEST_CASE("flow bound: no plan is faster, with trunks and without", "[sim][bound]") {
  const unsigned seed = GENERATE(range(1u, 25u));
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto one_of = [&](std::vector<int> choices) {
    return choices[static_cast<std::size_t>(random()) % choices.size()];
  };
  // 4 sources on 2 nodes, 8 destinations on 4, all of 2 GPUs; leaves of 2 nodes.
  const int source_shards = one_of({1, 2, 4}), shards = one_of({1, 2, 4, 8});
  const M2nCase c{{4 / source_shards, source_shards, one_of({0, 1}), one_of({0, 1}) == 1},
                  {8 / shards, shards, one_of({0, 1}), one_of({0, 1}) == 1},
                  {8000, 8000}};
  const Refit refit = make_refit(c);
  ClusterShape shape{.nodes = 6, .gpus_per_node = 2, .nvlink_domain_gpus = 2, .nics_per_node = 2};
  shape.fabric = {.nodes_per_leaf = one_of({0, 2}),
                  .oversubscription = static_cast<double>(one_of({1, 2, 4}))};
  const Cluster cluster = make_cluster(shape);
  const FlowBound bound = flow_bound(find_parcels(refit), cluster);
  for (const char* strategy : {"direct", "reshard", "optimal"}) {
    CAPTURE(strategy);
    const Schedule schedule = plan(refit, cluster, named_policy(strategy));
    const double seconds =
        predict(schedule, cluster, {wire_only(), Solver::incremental}).makespan_s;
    CHECK(seconds >= bound.seconds * (1 - 1e-9));
    if (std::string(strategy) == "direct") CHECK(seconds >= bound.no_relay_seconds * (1 - 1e-9));
  }
}

TEST_CASE("flow bound: what one domain owns and wants comes by NVLink only", "[sim][bound]") {
  // Rank 1 lacks 9 GB that only rank 0 of its domain has: 9 / 450 = 20 ms, not 9 / (450 + 50).
  const std::vector<Parcel> parcels{parcel({Rank{0}}, {Rank{1}}, 9 * kGB)};
  const Cluster cluster = test::cluster_of_domains({2, 1});
  const FlowBound bound = flow_bound(parcels, cluster);
  CHECK(bound.cuts.seconds == Approx(0.018).epsilon(1e-9));
  CHECK(bound.seconds == Approx(0.020).epsilon(1e-9));
  CHECK(bound.binding == "rank 1 ingress (NVLink, content of its domain)");
}

TEST_CASE("flow bound: DeepSeek-V3 on H100 needs relays to reach 0.84 s", "[sim][bound]") {
  const Scenario scenario =
      load_scenario(REFIT_SOURCE_DIR "/scenarios/published/deepseek_v3_h100.yaml");
  const FlowBound bound = flow_bound(find_parcels(scenario.refit), scenario.cluster);
  CHECK(bound.seconds == Approx(0.8426).epsilon(1e-3));
  CHECK(bound.no_relay_seconds == Approx(0.925).epsilon(1e-3));
}
