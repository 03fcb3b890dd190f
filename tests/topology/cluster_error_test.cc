#include <functional>
#include <limits>
#include <string>

#include <catch2/catch.hpp>

#include "base/error.h"
#include "tests/topology/small_clusters.h"
#include "topology/cluster.h"

namespace refit {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

std::string complaint(const ClusterSpec& spec) {
  try {
    const Cluster cluster(spec);
  } catch (const Error& error) {
    REQUIRE(error.code() == ErrorCode::bad_input);
    return error.what();
  }
  return "accepted";
}

std::string group_complaint(const std::function<void(NodeGroupSpec&)>& change) {
  NodeGroupSpec group = test::eight_gpu_nodes(2);
  change(group);
  return complaint(test::one_site({test::eight_gpu_nodes(1), group}));
}

std::string fabric_complaint(const FabricSpec& fabric) {
  return complaint(test::one_site({test::eight_gpu_nodes(2)}, fabric));
}

TEST_CASE("counts of a group must be in range", "[topology][error]") {
  REQUIRE(group_complaint([](auto& g) { g.nodes = 0; }) ==
          "cluster: group 1 (eight): nodes: must be from 1 to 1000000, got 0");
  REQUIRE(group_complaint([](auto& g) { g.gpus_per_node = -8; }) ==
          "cluster: group 1 (eight): gpus_per_node: must be from 1 to 1024, got -8");
  REQUIRE(group_complaint([](auto& g) { g.nics_per_node = 0; }) ==
          "cluster: group 1 (eight): nics_per_node: must be from 1 to 1024, got 0");
  REQUIRE(group_complaint([](auto& g) { g.nvlink_domain_gpus = 0; }) ==
          "cluster: group 1 (eight): nvlink_domain_gpus: must be from 1 to 1000000, got 0");
}

TEST_CASE("a cluster of more than a million GPUs is refused before it is built",
          "[topology][error]") {
  REQUIRE(group_complaint([](auto& g) { g.nodes = 1'000'000; }) ==
          "cluster: group 1 (eight): nodes: the cluster has 8000008 GPUs up to here; at most "
          "1000000 are allowed");
}

TEST_CASE("NICs must spread evenly over GPUs", "[topology][error]") {
  REQUIRE(group_complaint([](auto& g) { g.nics_per_node = 3; }) ==
          "cluster: group 1 (eight): nics_per_node: 3 NICs can't be spread evenly over 8 GPUs; "
          "use a multiple or a divisor of 8, or write gpu_nics");
  REQUIRE(group_complaint([](auto& g) { g.nics_per_node = 12; }) ==
          "cluster: group 1 (eight): nics_per_node: 12 NICs can't be spread evenly over 8 GPUs; "
          "use a multiple or a divisor of 8, or write gpu_nics");
}

TEST_CASE("domains must fit the nodes", "[topology][error]") {
  REQUIRE(group_complaint([](auto& g) { g.nvlink_domain_gpus = 12; }) ==
          "cluster: group 1 (eight): nvlink_domain_gpus: 12 is neither a multiple nor a divisor of "
          "the 8 GPUs of a "
          "node; for uneven domains use domain_sizes");
  REQUIRE(group_complaint([](auto& g) {
            g.domain_sizes = {8, 7};
          }) ==
          "cluster: group 1 (eight): domain_sizes: the sizes add up to 15, the group has 16 GPUs "
          "(2 nodes of 8)");
  REQUIRE(group_complaint([](auto& g) {
            g.domain_sizes = {16, 0};
          }) == "cluster: group 1 (eight): domain_sizes: 0 is not a size; use 1 or more");
}

TEST_CASE("rates must be positive and latencies not negative", "[topology][error]") {
  const std::string nic =
      "cluster: group 1 (eight): nic_bandwidth: must be more than 0 and at most 1e+18 bytes/s, "
      "got ";
  REQUIRE(group_complaint([](auto& g) { g.nic_bytes_per_s = 0; }) == nic + "0");
  REQUIRE(group_complaint([](auto& g) { g.nic_bytes_per_s = -1; }) == nic + "-1");
  REQUIRE(group_complaint([](auto& g) { g.nic_bytes_per_s = kInfinity; }) == nic + "inf");
  REQUIRE(group_complaint([](auto& g) { g.nic_bytes_per_s = kNotANumber; }) == nic + "nan");
  REQUIRE(group_complaint([](auto& g) { g.nvlink_bytes_per_s = 0; }) ==
          "cluster: group 1 (eight): nvlink_bandwidth: must be more than 0 and at most 1e+18 "
          "bytes/s, got 0");
  REQUIRE(group_complaint([](auto& g) { g.pcie_bytes_per_s = 0; }) ==
          "cluster: group 1 (eight): pcie_bandwidth: must be more than 0 and at most 1e+18 "
          "bytes/s, got 0");
  REQUIRE(group_complaint([](auto& g) { g.nic_latency_s = -1; }) ==
          "cluster: group 1 (eight): nic_latency: must be finite and not negative, got -1 s");
  REQUIRE(group_complaint([](auto& g) { g.nvlink_latency_s = kInfinity; }) ==
          "cluster: group 1 (eight): nvlink_latency: must be finite and not negative, got inf s");
  REQUIRE(group_complaint([](auto& g) { g.gpu_memory_bytes = -1; }) ==
          "cluster: group 1 (eight): gpu_memory: must be finite and not negative, got -1 bytes");
}

TEST_CASE("a fabric must make sense", "[topology][error]") {
  REQUIRE(
      fabric_complaint({.nodes_per_leaf = -1}) ==
      "cluster: fabric of site 'main': nodes_per_leaf: must be from 0 (flat) to 1000000, got -1");
  REQUIRE(fabric_complaint({.rail_optimized = true}) ==
          "cluster: fabric of site 'main': rail_optimized: a flat fabric has no rails; give "
          "nodes_per_leaf too");
  REQUIRE(fabric_complaint({.oversubscription = 0.5}) ==
          "cluster: fabric of site 'main': oversubscription: must be from 1 to 1000, got 0.5");
  REQUIRE(
      fabric_complaint({.spines = 4}) ==
      "cluster: fabric of site 'main': spines: a flat fabric has no leaves; give nodes_per_leaf "
      "too");
  REQUIRE(fabric_complaint({.nodes_per_leaf = 1, .spines = 2000}) ==
          "cluster: fabric of site 'main': spines: must be from 0 (the trunk is one link) to 1024, "
          "got 2000");
  REQUIRE(fabric_complaint({.oversubscription = kNotANumber}) ==
          "cluster: fabric of site 'main': oversubscription: must be from 1 to 1000, got nan");
  REQUIRE(fabric_complaint({.latency_s = -1}) ==
          "cluster: fabric of site 'main': latency: must be finite and not negative, got -1 s");
}

TEST_CASE("sites must be named once, used, and have a fabric each", "[topology][error]") {
  ClusterSpec spec = test::two_sites(1);
  SECTION("none") {
    spec.sites.clear();
    REQUIRE(complaint(spec) == "cluster: sites: there must be from 1 to 100 sites, got 0");
  }
  SECTION("too many") {
    spec.sites.resize(101, "x");
    REQUIRE(complaint(spec) == "cluster: sites: there must be from 1 to 100 sites, got 101");
  }
  SECTION("no name") {
    spec.sites[1] = "";
    REQUIRE(complaint(spec) == "cluster: site 1: name: a site needs a name");
  }
  SECTION("one name twice") {
    spec.sites[1] = "east";
    REQUIRE(complaint(spec) == "cluster: site 1: name: two sites are called 'east'");
  }
  SECTION("no nodes") {
    spec.groups[1].site = 0;
    REQUIRE(complaint(spec) == "cluster: site 1: name: site 'west' has no nodes");
  }
  SECTION("a group elsewhere") {
    spec.groups[1].site = 2;
    REQUIRE(complaint(spec) == "cluster: group 1 (eight): site: there is no site 2; there are 2");
  }
  SECTION("a fabric too few") {
    spec.fabrics.pop_back();
    REQUIRE(complaint(spec) ==
            "cluster: fabric: there must be one fabric per site, got 1 for 2 sites");
  }
}

TEST_CASE("a WAN link joins two different sites, once", "[topology][error][wan]") {
  ClusterSpec spec = test::two_sites(1);
  SECTION("unknown") {
    spec.wans[0].site_b = 2;
    REQUIRE(complaint(spec) == "cluster: wan 0: between: there is no site 2; there are 2");
  }
  SECTION("to itself") {
    spec.wans[0].site_b = 0;
    REQUIRE(complaint(spec) ==
            "cluster: wan 0: between: joins 'east' to itself; name two different sites");
  }
  SECTION("twice, also if written the other way round") {
    spec.wans.push_back({.site_a = 1, .site_b = 0, .bytes_per_s = 1e9});
    REQUIRE(complaint(spec) ==
            "cluster: wan 1: between: 'west' and 'east' are already joined; write one link with "
            "the bandwidth of both");
  }
  SECTION("no rate") {
    spec.wans[0].bytes_per_s = 0;
    REQUIRE(complaint(spec) ==
            "cluster: wan 0: bandwidth: must be more than 0 and at most 1e+18 bytes/s, got 0");
  }
  SECTION("time machine") {
    spec.wans[0].latency_s = -0.03;
    REQUIRE(complaint(spec) ==
            "cluster: wan 0: latency: must be finite and not negative, got -0.03 s");
  }
}

TEST_CASE("a cluster has at least one group", "[topology][error]") {
  REQUIRE(complaint(test::one_site({})) ==
          "cluster: groups: a cluster needs at least one group of nodes");
}

}  // namespace
}  // namespace refit
