#include <algorithm>

#include <catch2/catch.hpp>

#include "sim/lower_bound.h"
#include "sim/predict.h"
#include "tests/sim/parcels.h"
#include "tests/sim/random_plan.h"

using namespace refit;
using namespace refit::test;

namespace {

// Nothing if there is no such kind.
std::optional<Cut> find(const LowerBound& bound, const std::string& name) {
  const auto found = std::find_if(bound.kinds.begin(), bound.kinds.end(),
                                  [&](const Cut& cut) { return cut.name == name; });
  if (found == bound.kinds.end()) return std::nullopt;
  return *found;
}

}  // namespace

TEST_CASE("lower bound: a domain takes in once what it demands and does not own", "[sim][bound]") {
  // Ranks 0-7 own 100 GB each; all of node 1 demand all: 800 GB over 8 * 50 GB/s, 2 s. A GPU lacks
  // 800 GB, at 50 + 450 GB/s 1.6 s.
  std::vector<Parcel> parcels;
  for (int r = 0; r < 8; ++r) parcels.push_back(parcel({Rank{r}}, ranks(8, 16), 100 * kGB));
  const LowerBound bound = lower_bound(parcels, make_cluster({}));
  REQUIRE(bound.seconds == Approx(2));
  REQUIRE(bound.binding.name == "domain 1 ingress (NIC)");
  REQUIRE(bound.binding.bytes == 800e9);
  REQUIRE(bound.binding.bytes_per_s == 400e9);
  REQUIRE(find(bound, "rank 8 ingress (NIC + NVLink)")->seconds() == Approx(1.6));
  REQUIRE(find(bound, "rank 0 egress (NIC + NVLink)")->seconds() == Approx(0.2));
  REQUIRE(find(bound, "domain 0 egress (NIC)")->seconds() == Approx(2));
  REQUIRE(find(bound, "sources' egress (NIC)")->seconds() == Approx(2));
}

TEST_CASE("lower bound: a copy inside the domain saves the border, not the GPU's port",
          "[sim][bound]") {
  // Rank 9 owns what ranks 8-15 demand, and so does rank 0: nothing has to cross a NIC. Rank 8
  // lacks 90 GB.
  const LowerBound bound =
      lower_bound({parcel({Rank{0}, Rank{9}}, ranks(8, 16), 90 * kGB)}, make_cluster({}));
  REQUIRE_FALSE(find(bound, "domain 1 ingress (NIC)"));
  REQUIRE(bound.binding.name == "rank 8 ingress (NIC + NVLink)");
  REQUIRE(bound.seconds == Approx(90.0 / 500));
}

TEST_CASE("lower bound: one owner of everything is the cut of its own ports", "[sim][bound]") {
  // 16 ranks of 4 nodes, all from rank 0: rank 0 sends 90 GB at least once, over NIC and NVLink.
  const Cluster cluster =
      make_cluster({.nodes = 4, .gpus_per_node = 1, .nvlink_domain_gpus = 1, .nics_per_node = 1});
  const LowerBound bound = lower_bound({parcel({Rank{0}}, ranks(1, 4), 90 * kGB)}, cluster);
  REQUIRE(bound.seconds == Approx(90.0 / 50));
  REQUIRE(find(bound, "rank 0 egress (NIC + NVLink)")->bytes == 90e9);  // once, not three times
}

TEST_CASE("lower bound: shared NICs count once", "[sim][bound]") {
  const Cluster cluster =
      make_cluster({.nodes = 2, .gpus_per_node = 4, .nvlink_domain_gpus = 4, .nics_per_node = 2});
  const LowerBound bound = lower_bound({parcel({Rank{0}}, ranks(4, 8), 100 * kGB)}, cluster);
  REQUIRE(find(bound, "domain 1 ingress (NIC)")->bytes_per_s == 100e9);  // 2 * 50, not 4 * 50
}

TEST_CASE("lower bound: replicated sources share the way out", "[sim][bound]") {
  // Nodes 0 and 1 both own 100 GB that node 2 demands: 100 GB over the 16 NICs of both, 0.125 s.
  // Neither is the only owner, so there is no cut of one domain's way out.
  std::vector<Rank> owners = ranks(0, 1);
  owners.push_back(Rank{8});
  const LowerBound bound =
      lower_bound({parcel(owners, ranks(16, 24), 100 * kGB)}, make_cluster({.nodes = 3}));
  REQUIRE(find(bound, "sources' egress (NIC)")->seconds() == Approx(0.125));
  REQUIRE_FALSE(find(bound, "domain 0 egress (NIC)"));
}

TEST_CASE("lower bound: PCIe inside a node is a way in beside the NICs", "[sim][bound]") {
  // 2 GPUs a node without NVLink, PCIe 20 GB/s, NIC 50 GB/s. Ranks 2 and 3 demand 40 GB of rank 0:
  //   the node takes 40 GB in over 2 NICs, each no faster than its PCIe port: 40 / 40 GB/s = 1 s
  //   a rank takes 40 GB in over its PCIe port: 2 s
  const Cluster cluster = make_cluster({.nodes = 2,
                                        .gpus_per_node = 2,
                                        .nvlink_domain_gpus = 1,
                                        .nics_per_node = 2,
                                        .pcie_bytes_per_s = 20e9});
  const LowerBound bound = lower_bound({parcel({Rank{0}}, ranks(2, 4), 40 * kGB)}, cluster);
  REQUIRE(find(bound, "node 1 ingress (NIC)")->seconds() == Approx(1));
  REQUIRE(find(bound, "rank 2 ingress (NIC + NVLink)")->seconds() == Approx(2));
  REQUIRE(bound.seconds == Approx(2));
}

TEST_CASE("lower bound: a leaf's trunk and a core are cuts", "[sim][bound]") {
  ClusterShape shape{.nodes = 4};
  SECTION("leaf") {
    // 2 nodes a leaf, 4:1: the trunk carries 16 * 50 / 4 = 200 GB/s. Nodes 2 and 3 demand 100 GB of
    // node 0: once through the trunk, 0.5 s; each node's NICs would take 0.25 s.
    shape.fabric.nodes_per_leaf = 2;
    shape.fabric.oversubscription = 4;
    const LowerBound bound =
        lower_bound({parcel({Rank{0}}, ranks(16, 32), 100 * kGB)}, make_cluster(shape));
    REQUIRE(find(bound, "leaf 1 ingress (trunks)")->seconds() == Approx(0.5));
    REQUIRE(find(bound, "leaf 0 egress (trunks)")->seconds() == Approx(0.5));
  }
  SECTION("rail-optimised: NVLink joins the leaves of a node, so they are one") {
    shape.fabric.nodes_per_leaf = 2;
    shape.fabric.rail_optimized = true;
    shape.fabric.oversubscription = 4;
    const LowerBound bound =
        lower_bound({parcel({Rank{0}}, ranks(16, 32), 100 * kGB)}, make_cluster(shape));
    // 8 leaves of 2 NICs each: 8 * 100 / 4 = 200 GB/s
    REQUIRE(find(bound, "leaf 8 ingress (trunks)")->seconds() == Approx(0.5));
  }
  SECTION("core") {
    // 32 * 50 / 4 = 400 GB/s. Three nodes take 100 GB each through it: 0.75 s
    shape.fabric.oversubscription = 4;
    const LowerBound bound =
        lower_bound({parcel({Rank{0}}, ranks(8, 32), 100 * kGB)}, make_cluster(shape));
    REQUIRE(bound.seconds == Approx(0.75));
    REQUIRE(bound.binding.bytes == 300e9);
  }
}

TEST_CASE("lower bound: another site gets everything once over the WAN", "[sim][bound]") {
  NodeGroupSpec group = make_cluster({.nodes = 1}).spec().groups[0];
  NodeGroupSpec far = group;
  far.site = 1;
  const Cluster cluster({{group, far}, {{}, {}}, {"home", "away"}, {{0, 1, 2e9, 0.03}}});
  const LowerBound bound = lower_bound({parcel({Rank{0}}, ranks(8, 16), 100 * kGB)}, cluster);
  REQUIRE(bound.binding.name == "site 'away' ingress (WAN)");
  REQUIRE(bound.seconds == Approx(50));
}

TEST_CASE("lower bound: nothing to move takes no time", "[sim][bound]") {
  REQUIRE(lower_bound({}, make_cluster({})).seconds == 0);
  const LowerBound at_home = lower_bound({parcel({Rank{3}}, {Rank{3}}, kGB)}, make_cluster({}));
  REQUIRE(at_home.seconds == 0);
  REQUIRE(at_home.kinds.empty());
}

namespace {

// Random owners and demanders, and a plan that serves them: one sender per domain, or collectives.
RandomCase random_delivery(std::uint32_t seed, double nic_bytes_per_s) {
  std::mt19937 random(seed);
  const auto pick = [&](int n) { return std::uniform_int_distribution<int>(0, n - 1)(random); };
  ClusterShape shape;
  shape.nodes = 2 + pick(3);
  shape.gpus_per_node = 4;
  shape.nvlink_domain_gpus = pick(3) == 0 ? 1 : 4;
  shape.nics_per_node = pick(2) == 0 ? 4 : 2;
  shape.nic_bytes_per_s = nic_bytes_per_s;
  if (shape.nvlink_domain_gpus == 1 && pick(2) == 0) shape.pcie_bytes_per_s = 30e9;
  if (pick(2) == 0) shape.fabric.nodes_per_leaf = 2;
  shape.fabric.rail_optimized = shape.fabric.nodes_per_leaf > 0 && pick(2) == 0;
  shape.fabric.oversubscription = 1 + pick(3);
  const Cluster cluster = make_cluster(shape);
  const int gpus = cluster.gpus();

  PlanWriter plan(gpus, 2);
  for (int p = 0; p < 12; ++p) {
    std::vector<Rank> owners, demanders;
    for (int r = 0; r < gpus; ++r) {
      if (pick(gpus) < 2) owners.emplace_back(r);
      if (pick(2) == 0) demanders.emplace_back(r);
    }
    if (owners.empty()) owners.emplace_back(pick(gpus));
    if (demanders.empty()) demanders.emplace_back(pick(gpus));
    const std::int64_t bytes = 1'000'000 * (1 + pick(500));
    const CargoId cargo = plan.cargo({plan.parcel(owners, demanders, bytes)});
    const auto content = static_cast<double>(bytes);
    std::vector<Rank> everyone = demanders;
    everyone.push_back(owners[0]);
    std::sort(everyone.begin(), everyone.end());
    everyone.erase(std::unique(everyone.begin(), everyone.end()), everyone.end());
    const int way = pick(3);
    if (way == 0) {
      plan.broadcast(owners[0].value, plan.group(everyone), content);
    } else if (way == 1) {
      plan.all_gather(plan.group(everyone), cargo, content);
    } else {
      for (const Rank to : demanders) {
        if (std::find(owners.begin(), owners.end(), to) != owners.end()) continue;
        // From an owner in the same domain if there is one.
        Rank from = owners[static_cast<std::size_t>(pick(static_cast<int>(owners.size())))];
        for (const Rank owner : owners) {
          if (cluster.domain(owner) == cluster.domain(to)) from = owner;
        }
        plan.transfer(from.value, to.value, content);
      }
    }
  }
  return {cluster, plan.schedule()};
}

}  // namespace

TEST_CASE("lower bound: no simulated plan beats it", "[sim][bound]") {
  for (std::uint32_t i = 0; i < 200; ++i) {
    const std::uint32_t seed = Catch::rngSeed() + i;
    CAPTURE(seed);
    const RandomCase random = random_delivery(seed, 50e9);
    const LowerBound bound = lower_bound(random.schedule.parcels, random.cluster);
    CAPTURE(bound.binding.name, bound.seconds);
    REQUIRE(bound.seconds <= predict(random.schedule, random.cluster).makespan_s * (1 + 1e-9));
  }
}

TEST_CASE("lower bound: faster NICs never raise it", "[sim][bound]") {
  for (std::uint32_t i = 0; i < 200; ++i) {
    const std::uint32_t seed = Catch::rngSeed() + i;
    CAPTURE(seed);
    const RandomCase slow = random_delivery(seed, 25e9);
    const RandomCase fast = random_delivery(seed, 50e9);
    REQUIRE(slow.schedule == fast.schedule);
    REQUIRE(lower_bound(fast.schedule.parcels, fast.cluster).seconds <=
            lower_bound(slow.schedule.parcels, slow.cluster).seconds);
  }
}

TEST_CASE("lower bound: parcels with the same ranks count together", "[sim][bound]") {
  const Cluster cluster = make_cluster({});
  const LowerBound one = lower_bound({parcel({Rank{0}}, ranks(8, 16), 30 * kGB)}, cluster);
  const LowerBound three = lower_bound(
      {parcel({Rank{0}}, ranks(8, 16), 10 * kGB), parcel({Rank{0}}, ranks(8, 16), 10 * kGB),
       parcel({Rank{0}}, ranks(8, 16), 10 * kGB)},
      cluster);
  REQUIRE(one.seconds == three.seconds);
  REQUIRE(one.kinds.size() == three.kinds.size());
}
