#include "topology/route.h"

#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "base/error.h"
#include "tests/topology/small_clusters.h"

namespace refit {
namespace {

using test::eight_gpu_nodes;
using test::names;
using test::one_site;
using Names = std::vector<std::string>;

TEST_CASE("a rank reaches itself over no link", "[topology][route]") {
  const Route path = route(Cluster(one_site({eight_gpu_nodes(1)})), Rank{3}, Rank{3});
  REQUIRE(path.kind == RouteKind::local);
  REQUIRE(path.links.empty());
  REQUIRE(path.latency_s == 0);
}

TEST_CASE("inside a domain bytes take NVLink, also between nodes", "[topology][route]") {
  NodeGroupSpec rack = eight_gpu_nodes(2);
  rack.nvlink_domain_gpus = 16;
  rack.pcie_bytes_per_s = 25e9;  // not used here
  const Cluster cluster(one_site({rack}));
  const Route path = route(cluster, Rank{1}, Rank{10});
  REQUIRE(path.kind == RouteKind::nvlink);
  REQUIRE(names(cluster, path.links) == Names{"node 0 gpu 1 nvlink out", "node 1 gpu 2 nvlink in"});
  REQUIRE(path.latency_s == 2e-6);
}

TEST_CASE("between domains bytes take the NICs of both ends, latency once", "[topology][route]") {
  const Cluster cluster(one_site({eight_gpu_nodes(2)}));
  const Route path = route(cluster, Rank{1}, Rank{10});
  REQUIRE(path.kind == RouteKind::network);
  REQUIRE(names(cluster, path.links) == Names{"node 0 nic 1 out", "node 1 nic 2 in"});
  REQUIRE(path.latency_s == 5e-6);
}

TEST_CASE("a limiting PCIe path stands before and after the NICs", "[topology][route]") {
  NodeGroupSpec limited = eight_gpu_nodes(1);
  limited.pcie_bytes_per_s = 25e9;
  const Cluster cluster(one_site({limited, eight_gpu_nodes(1)}));
  REQUIRE(names(cluster, route(cluster, Rank{0}, Rank{8}).links) ==
          Names{"node 0 gpu 0 pcie out", "node 0 nic 0 out", "node 1 nic 0 in"});
  REQUIRE(names(cluster, route(cluster, Rank{8}, Rank{0}).links) ==
          Names{"node 1 nic 0 out", "node 0 nic 0 in", "node 0 gpu 0 pcie in"});
}

TEST_CASE("in one node without NVLink between the two", "[topology][route]") {
  NodeGroupSpec group = eight_gpu_nodes(1);
  group.nvlink_domain_gpus = 4;
  SECTION("bytes take PCIe if its rate is known") {
    group.pcie_bytes_per_s = 25e9;
    const Cluster cluster(one_site({group}));
    const Route path = route(cluster, Rank{3}, Rank{4});
    REQUIRE(path.kind == RouteKind::node);
    REQUIRE(names(cluster, path.links) == Names{"node 0 gpu 3 pcie out", "node 0 gpu 4 pcie in"});
    REQUIRE(path.latency_s == 0);
  }
  SECTION("and the NICs if not") {
    const Cluster cluster(one_site({group}));
    const Route path = route(cluster, Rank{3}, Rank{4});
    REQUIRE(path.kind == RouteKind::network);
    REQUIRE(names(cluster, path.links) == Names{"node 0 nic 3 out", "node 0 nic 4 in"});
  }
  SECTION("even if both share one") {
    group.nics_per_node = 1;
    const Cluster cluster(one_site({group}));
    REQUIRE(names(cluster, route(cluster, Rank{3}, Rank{4}).links) ==
            Names{"node 0 nic 0 out", "node 0 nic 0 in"});
  }
}

TEST_CASE("trunks are crossed between leaves only", "[topology][route]") {
  const Cluster cluster(one_site({eight_gpu_nodes(4)},
                                 {.nodes_per_leaf = 2, .oversubscription = 2, .latency_s = 1e-6}));
  const Route inside = route(cluster, Rank{0}, Rank{9});
  REQUIRE(names(cluster, inside.links) == Names{"node 0 nic 0 out", "node 1 nic 1 in"});
  REQUIRE(inside.latency_s == 5e-6);
  const Route across = route(cluster, Rank{0}, Rank{17});
  REQUIRE(names(cluster, across.links) ==
          Names{"node 0 nic 0 out", "leaf 0 up", "leaf 1 down", "node 2 nic 1 in"});
  REQUIRE(across.latency_s == Approx(6e-6).epsilon(1e-12));  // NIC path 5 us + fabric 1 us
}

TEST_CASE("in a rail-optimised block only equal rails avoid the trunk", "[topology][route]") {
  const Cluster cluster(one_site(
      {eight_gpu_nodes(4)}, {.nodes_per_leaf = 2, .rail_optimized = true, .oversubscription = 2}));
  REQUIRE(names(cluster, route(cluster, Rank{3}, Rank{11}).links) ==
          Names{"node 0 nic 3 out", "node 1 nic 3 in"});
  REQUIRE(names(cluster, route(cluster, Rank{3}, Rank{12}).links) ==
          Names{"node 0 nic 3 out", "leaf 3 up", "leaf 4 down", "node 1 nic 4 in"});
  REQUIRE(names(cluster, route(cluster, Rank{3}, Rank{19}).links) ==  // same rail, next block
          Names{"node 0 nic 3 out", "leaf 3 up", "leaf 11 down", "node 2 nic 3 in"});
}

TEST_CASE("with spines a transfer takes one cable up and the same spine's cable down",
          "[topology][route]") {
  const int oversubscription = GENERATE(1, 2);
  const Cluster cluster(
      one_site({eight_gpu_nodes(4)},
               {.nodes_per_leaf = 2, .oversubscription = double(oversubscription), .spines = 4}));
  // 16 NICs of 50 GB/s over 4 spines: 200 GB/s a cable without oversubscription.
  REQUIRE(cluster.link(cluster.cable_up(Rank{0}, 3)) ==
          Link{"leaf 0 to spine 3", LinkKind::fabric, 200e9 / oversubscription, 0});
  REQUIRE(cluster.link(cluster.cable_down(Rank{31}, 0)).name == "spine 0 to leaf 1");
  std::vector<int> taken(4);
  for (int src = 0; src < 16; ++src) {
    for (int dst = 16; dst < 32; ++dst) {
      const Names links = names(cluster, route(cluster, Rank{src}, Rank{dst}).links);
      const std::size_t trunk = oversubscription > 1 ? 1 : 0;
      REQUIRE(links.size() == 4 + 2 * trunk);
      const std::string up = links[1 + trunk];
      REQUIRE(up.substr(0, 16) == "leaf 0 to spine ");
      const int spine = up.back() - '0';
      REQUIRE(links[2 + trunk] == fmt::format("spine {} to leaf 1", spine));
      REQUIRE(names(cluster, route(cluster, Rank{src}, Rank{dst}).links) == links);
      ++taken[static_cast<std::size_t>(spine)];
    }
  }
  // 256 pairs on 4 spines: 64 each on average, with a deviation of sqrt(256 * 3/16) = 7.
  for (const int count : taken) REQUIRE((count > 64 - 4 * 7 && count < 64 + 4 * 7));
  REQUIRE(route(cluster, Rank{0}, Rank{9}).links.size() == 2);  // turned round in the leaf
}

TEST_CASE("an oversubscribed flat fabric is one core that every network transfer crosses",
          "[topology][route]") {
  const Cluster cluster(one_site({eight_gpu_nodes(2)}, {.oversubscription = 2, .latency_s = 1e-6}));
  const Route path = route(cluster, Rank{0}, Rank{8});
  REQUIRE(names(cluster, path.links) == Names{"node 0 nic 0 out", "core main", "node 1 nic 0 in"});
  REQUIRE(path.latency_s == Approx(6e-6).epsilon(1e-12));
  REQUIRE(route(cluster, Rank{0}, Rank{1}).links.size() == 2);  // NVLink does not
}

TEST_CASE("between sites bytes cross the fabric of both and the WAN", "[topology][route][wan]") {
  SECTION("flat and non-blocking") {
    const Cluster cluster(test::two_sites(1));
    const Route path = route(cluster, Rank{8}, Rank{0});
    REQUIRE(path.kind == RouteKind::network);
    REQUIRE(names(cluster, path.links) ==
            Names{"node 1 nic 0 out", "wan west to east", "node 0 nic 0 in"});
    REQUIRE(path.latency_s == Approx(0.030005).epsilon(1e-12));  // 30 ms + 5 us
  }
  SECTION("flat with cores") {
    const Cluster cluster(test::two_sites(1, {.oversubscription = 2}));
    REQUIRE(
        names(cluster, route(cluster, Rank{0}, Rank{8}).links) ==
        Names{"node 0 nic 0 out", "core east", "wan east to west", "core west", "node 1 nic 0 in"});
  }
  SECTION("leaves, one kind of fabric at each end") {
    ClusterSpec spec = test::two_sites(1, {.nodes_per_leaf = 1, .oversubscription = 2});
    spec.fabrics[1] = {.oversubscription = 2};
    const Cluster cluster(spec);
    REQUIRE(
        names(cluster, route(cluster, Rank{0}, Rank{8}).links) ==
        Names{"node 0 nic 0 out", "leaf 0 up", "wan east to west", "core west", "node 1 nic 0 in"});
    REQUIRE(names(cluster, route(cluster, Rank{8}, Rank{0}).links) ==
            Names{"node 1 nic 0 out", "core west", "wan west to east", "leaf 0 down",
                  "node 0 nic 0 in"});
  }
}

TEST_CASE("sites that no WAN link joins have no route", "[topology][route][wan]") {
  const Cluster cluster(test::two_sites(1, {}, /*joined=*/false));
  REQUIRE(route_kind(cluster, Rank{0}, Rank{8}) == RouteKind::network);
  try {
    route(cluster, Rank{0}, Rank{8});
    FAIL("no error");
  } catch (const Error& error) {
    REQUIRE(error.code() == ErrorCode::bad_input);
    REQUIRE(std::string(error.what()) ==
            "route from rank 0 to rank 8: no wan link joins sites 'east' and 'west'; add one to "
            "cluster.wan");
  }
}

TEST_CASE("a route and its kind agree for every pair", "[topology][route]") {
  NodeGroupSpec halves = eight_gpu_nodes(1);
  halves.nvlink_domain_gpus = 4;
  halves.pcie_bytes_per_s = 25e9;
  const Cluster cluster(
      one_site({halves, eight_gpu_nodes(1)}, {.nodes_per_leaf = 1, .oversubscription = 2}));
  for (int src = 0; src < cluster.gpus(); ++src) {
    for (int dst = 0; dst < cluster.gpus(); ++dst) {
      CAPTURE(src, dst);
      const Route path = route(cluster, Rank{src}, Rank{dst});
      REQUIRE(path.kind == route_kind(cluster, Rank{src}, Rank{dst}));
      double latency_s = 0;
      for (const LinkId link : path.links) latency_s += cluster.link(link).latency_s;
      REQUIRE(path.latency_s == latency_s);
      REQUIRE(path.links.empty() == (src == dst));
    }
  }
}

}  // namespace
}  // namespace refit
