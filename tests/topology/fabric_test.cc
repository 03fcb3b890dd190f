#include <catch2/catch.hpp>

#include "tests/topology/small_clusters.h"
#include "topology/cluster.h"

namespace refit {
namespace {

using test::eight_gpu_nodes;
using test::one_site;

TEST_CASE("a non-blocking fabric has no trunk: it could never bind", "[topology][fabric]") {
  const FabricSpec fabric = GENERATE(FabricSpec{}, FabricSpec{.nodes_per_leaf = 2},
                                     FabricSpec{.nodes_per_leaf = 2, .rail_optimized = true});
  const Cluster cluster(one_site({eight_gpu_nodes(4)}, fabric));
  REQUIRE(cluster.links().size() == 128);  // 32 GPUs x (NVLink + NIC) x 2 directions
  REQUIRE_FALSE(cluster.leaf_up(Rank{0}));
  REQUIRE_FALSE(cluster.leaf_down(Rank{31}));
  REQUIRE_FALSE(cluster.core(SiteId{0}));
}

TEST_CASE("a flat fabric has no leaves", "[topology][fabric]") {
  const Cluster cluster(one_site({eight_gpu_nodes(2)}, {.oversubscription = 4}));
  REQUIRE(cluster.leaf(Rank{0}) == -1);
  REQUIRE_FALSE(cluster.leaf_up(Rank{0}));
  // 16 NICs x 50 GB/s / 4 = 200 GB/s
  REQUIRE(cluster.link(*cluster.core(SiteId{0})) == Link{"core main", LinkKind::fabric, 200e9, 0});
}

TEST_CASE("a leaf's trunk is the sum of its NICs over the oversubscription", "[topology][fabric]") {
  const Cluster cluster(one_site({eight_gpu_nodes(5)},
                                 {.nodes_per_leaf = 2, .oversubscription = 4, .latency_s = 1e-6}));
  REQUIRE(cluster.leaf(Rank{0}) == 0);
  REQUIRE(cluster.leaf(Rank{15}) == 0);
  REQUIRE(cluster.leaf(Rank{16}) == 1);
  REQUIRE(cluster.leaf(Rank{39}) == 2);
  // 2 nodes x 8 NICs x 50 GB/s / 4 = 200 GB/s
  REQUIRE(cluster.link(*cluster.leaf_up(Rank{3})) ==
          Link{"leaf 0 up", LinkKind::fabric, 200e9, 1e-6});
  REQUIRE(cluster.link(*cluster.leaf_down(Rank{16})) ==
          Link{"leaf 1 down", LinkKind::fabric, 200e9, 0});
  // The last leaf has one node: 100 GB/s.
  REQUIRE(cluster.link(*cluster.leaf_up(Rank{32})) ==
          Link{"leaf 2 up", LinkKind::fabric, 100e9, 1e-6});
  REQUIRE_FALSE(cluster.core(SiteId{0}));
}

TEST_CASE("rails get a leaf each in every block of nodes", "[topology][fabric]") {
  NodeGroupSpec group = eight_gpu_nodes(3);
  group.nics_per_node = 4;  // pairs of GPUs share a NIC: 4 rails
  const Cluster cluster(
      one_site({group}, {.nodes_per_leaf = 2, .rail_optimized = true, .oversubscription = 2}));
  REQUIRE(cluster.leaf(Rank{0}) == 0);
  REQUIRE(cluster.leaf(Rank{1}) == 0);
  REQUIRE(cluster.leaf(Rank{7}) == 3);
  REQUIRE(cluster.leaf(Rank{8}) == 0);   // node 1, same block
  REQUIRE(cluster.leaf(Rank{16}) == 4);  // node 2 opens the next block
  REQUIRE(cluster.leaf(Rank{23}) == 7);
  // 2 nodes x 1 shared NIC x 50 GB/s / 2 = 50 GB/s; a shared NIC feeds its leaf once.
  REQUIRE(cluster.link(*cluster.leaf_up(Rank{0})).bandwidth_bytes_per_s == 50e9);
  REQUIRE(cluster.link(*cluster.leaf_down(Rank{16})).bandwidth_bytes_per_s == 25e9);
}

TEST_CASE("bundled NICs feed a trunk with their sum", "[topology][fabric]") {
  NodeGroupSpec group = eight_gpu_nodes(2);
  group.nics_per_node = 16;
  const Cluster cluster(one_site({group}, {.nodes_per_leaf = 1, .oversubscription = 2}));
  // 16 NICs x 50 GB/s / 2
  REQUIRE(cluster.link(*cluster.leaf_up(Rank{0})).bandwidth_bytes_per_s == 400e9);
}

TEST_CASE("leaves fill across the groups of a site, and never across sites", "[topology][fabric]") {
  NodeGroupSpec four = eight_gpu_nodes(1);
  four.gpus_per_node = four.nics_per_node = four.nvlink_domain_gpus = 4;
  SECTION("a block that starts with few rails gets more when a node with more arrives") {
    const Cluster cluster(
        one_site({four, eight_gpu_nodes(1)},
                 {.nodes_per_leaf = 2, .rail_optimized = true, .oversubscription = 2}));
    REQUIRE(cluster.leaf(Rank{3}) == 3);
    REQUIRE(cluster.leaf(Rank{4}) == 0);   // rail 0 of the second node
    REQUIRE(cluster.leaf(Rank{11}) == 7);  // rail 7, the second node's alone
    REQUIRE(cluster.link(*cluster.leaf_up(Rank{0})).bandwidth_bytes_per_s == 50e9);   // 2 x 50 / 2
    REQUIRE(cluster.link(*cluster.leaf_up(Rank{11})).bandwidth_bytes_per_s == 25e9);  // 1 x 50 / 2
  }
  SECTION("a block goes on after a group of another site, without mixing leaves") {
    ClusterSpec spec =
        test::two_sites(1, {.nodes_per_leaf = 2, .rail_optimized = true, .oversubscription = 2});
    spec.groups[0] = four;                      // east: 4 rails, leaves 0-3
    spec.groups.push_back(eight_gpu_nodes(1));  // east again, same block: rails 4-7 are new
    const Cluster cluster(spec);
    REQUIRE(cluster.leaf(Rank{4}) == 4);    // west, rail 0
    REQUIRE(cluster.leaf(Rank{11}) == 11);  // west, rail 7
    REQUIRE(cluster.leaf(Rank{12}) == 0);   // east, rail 0
    REQUIRE(cluster.leaf(Rank{16}) == 12);  // east, rail 4
  }
}

TEST_CASE("a trunk that cannot bind exists where it adds latency", "[topology][fabric]") {
  SECTION("leaf") {
    const Cluster cluster(one_site({eight_gpu_nodes(2)}, {.nodes_per_leaf = 1, .latency_s = 1e-6}));
    REQUIRE(cluster.link(*cluster.leaf_up(Rank{0})) ==
            Link{"leaf 0 up", LinkKind::fabric, 400e9, 1e-6});
  }
  SECTION("core") {
    const Cluster cluster(one_site({eight_gpu_nodes(2)}, {.latency_s = 1e-6}));
    REQUIRE(cluster.link(*cluster.core(SiteId{0})) ==
            Link{"core main", LinkKind::fabric, 800e9, 1e-6});
  }
}

TEST_CASE("each site has its own core and each WAN link two directions",
          "[topology][fabric][wan]") {
  const Cluster cluster(test::two_sites(1, {.oversubscription = 2}));
  REQUIRE(cluster.sites() == 2);
  REQUIRE(cluster.site(Rank{7}) == SiteId{0});
  REQUIRE(cluster.site(Rank{8}) == SiteId{1});
  // 8 x 50 GB/s / 2
  REQUIRE(cluster.link(*cluster.core(SiteId{0})) == Link{"core east", LinkKind::fabric, 200e9, 0});
  REQUIRE(cluster.link(*cluster.core(SiteId{1})) == Link{"core west", LinkKind::fabric, 200e9, 0});
  REQUIRE(cluster.link(*cluster.wan(SiteId{0}, SiteId{1})) ==
          Link{"wan east to west", LinkKind::wan, 12.5e9, 0.03});
  REQUIRE(cluster.link(*cluster.wan(SiteId{1}, SiteId{0})) ==
          Link{"wan west to east", LinkKind::wan, 12.5e9, 0.03});
  REQUIRE_FALSE(cluster.wan(SiteId{0}, SiteId{0}));
}

}  // namespace
}  // namespace refit
