#include "topology/cluster.h"

#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/topology/small_clusters.h"

namespace refit {
namespace {

using test::domain_sizes;
using test::eight_gpu_nodes;
using test::one_site;
using Sizes = std::vector<std::size_t>;

TEST_CASE("ranks count through groups, node by node", "[topology][cluster]") {
  NodeGroupSpec four = eight_gpu_nodes(2);
  four.name = "four";
  four.gpus_per_node = four.nics_per_node = four.nvlink_domain_gpus = 4;
  const Cluster cluster(one_site({eight_gpu_nodes(3), four}));

  REQUIRE(cluster.gpus() == 32);  // 3 * 8 + 2 * 4
  REQUIRE(cluster.nodes() == 5);
  REQUIRE(cluster.sites() == 1);
  REQUIRE(cluster.node(Rank{0}) == NodeId{0});
  REQUIRE(cluster.node(Rank{23}) == NodeId{2});
  REQUIRE(cluster.node(Rank{24}) == NodeId{3});
  REQUIRE(cluster.node(Rank{31}) == NodeId{4});
  REQUIRE(cluster.group(Rank{23}).name == "eight");
  REQUIRE(cluster.group(Rank{24}).name == "four");
  REQUIRE(cluster.site(Rank{31}) == SiteId{0});
}

TEST_CASE("every rank is in the domain that lists it", "[topology][cluster]") {
  NodeGroupSpec rack = eight_gpu_nodes(5);
  rack.nvlink_domain_gpus = 16;
  const Cluster cluster(one_site({rack, eight_gpu_nodes(2)}));
  std::set<Rank> seen;
  for (int d = 0; d < cluster.domains(); ++d) {
    for (const Rank rank : cluster.domain_ranks(DomainId{d})) {
      REQUIRE(cluster.domain(rank) == DomainId{d});
      REQUIRE(seen.insert(rank).second);
    }
  }
  REQUIRE(seen.size() == 56);  // (5 + 2) * 8
}

TEST_CASE("domains are as large as the machines and the group allow", "[topology][cluster]") {
  NodeGroupSpec group = eight_gpu_nodes(4);
  SECTION("one per node") {
    REQUIRE(domain_sizes(Cluster(one_site({group}))) == Sizes{8, 8, 8, 8});
  }
  SECTION("two per node") {
    group.nvlink_domain_gpus = 4;
    REQUIRE(domain_sizes(Cluster(one_site({group}))) == Sizes(8, 4));
  }
  SECTION("over two nodes") {
    group.nvlink_domain_gpus = 16;
    REQUIRE(domain_sizes(Cluster(one_site({group}))) == Sizes{16, 16});
  }
  SECTION("the last rack is only partly filled") {  // 32 = 24 + 8
    group.nvlink_domain_gpus = 24;
    REQUIRE(domain_sizes(Cluster(one_site({group}))) == Sizes{24, 8});
  }
  SECTION("a rack larger than the group holds the group") {
    group.nvlink_domain_gpus = 64;
    REQUIRE(domain_sizes(Cluster(one_site({group}))) == Sizes{32});
  }
  SECTION("sizes written out win, and need not end with a node") {
    group.domain_sizes = {20, 11, 1};
    const Cluster cluster(one_site({group}));
    REQUIRE(domain_sizes(cluster) == Sizes{20, 11, 1});
    REQUIRE(cluster.domain(Rank{19}) == DomainId{0});
    REQUIRE(cluster.domain(Rank{20}) == DomainId{1});
    REQUIRE(cluster.domain(Rank{31}) == DomainId{2});
  }
  SECTION("a domain never spans two groups") {
    group.nvlink_domain_gpus = 64;
    REQUIRE(domain_sizes(Cluster(one_site({group, group}))) == Sizes{32, 32});
  }
}

TEST_CASE("NVLink ports have the group's numbers, latency on the way out only",
          "[topology][cluster]") {
  const Cluster cluster(one_site({eight_gpu_nodes(2)}));
  const Link& out = cluster.link(*cluster.nvlink_out(Rank{11}));
  const Link& in = cluster.link(*cluster.nvlink_in(Rank{11}));
  REQUIRE(out == Link{"node 1 gpu 3 nvlink out", LinkKind::nvlink, 450e9, 2e-6});
  REQUIRE(in == Link{"node 1 gpu 3 nvlink in", LinkKind::nvlink, 450e9, 0});
}

TEST_CASE("a rank alone in its domain has no NVLink port", "[topology][cluster]") {
  NodeGroupSpec group = eight_gpu_nodes(1);
  SECTION("no NVLink at all, and then no rate is needed") {
    group.nvlink_domain_gpus = 1;
    group.nvlink_bytes_per_s = 0;
    const Cluster cluster(one_site({group}));
    for (int r = 0; r < 8; ++r) {
      REQUIRE_FALSE(cluster.nvlink_out(Rank{r}));
      REQUIRE_FALSE(cluster.nvlink_in(Rank{r}));
    }
    REQUIRE(cluster.links().size() == 16);  // 8 NICs, out and in
  }
  SECTION("one GPU left over") {
    group.domain_sizes = {7, 1};
    const Cluster cluster(one_site({group}));
    REQUIRE(cluster.nvlink_out(Rank{6}));
    REQUIRE_FALSE(cluster.nvlink_out(Rank{7}));
    REQUIRE_FALSE(cluster.nvlink_in(Rank{7}));
  }
}

TEST_CASE("one NIC per GPU: each has its own, and its rail is its place in the node",
          "[topology][nic]") {
  const Cluster cluster(one_site({eight_gpu_nodes(2)}));
  REQUIRE(cluster.link(cluster.nic_out(Rank{13})) ==
          Link{"node 1 nic 5 out", LinkKind::nic, 50e9, 5e-6});
  REQUIRE(cluster.link(cluster.nic_in(Rank{13})) ==
          Link{"node 1 nic 5 in", LinkKind::nic, 50e9, 0});
  std::set<LinkId> distinct;
  for (int r = 0; r < 16; ++r) {
    REQUIRE(cluster.rail(Rank{r}) == r % 8);
    distinct.insert({cluster.nic_out(Rank{r}), cluster.nic_in(Rank{r})});
  }
  REQUIRE(distinct.size() == 32);
}

TEST_CASE("more NICs than GPUs are bundled per GPU", "[topology][nic]") {
  NodeGroupSpec group = eight_gpu_nodes(1);
  group.nics_per_node = 32;
  group.nic_bytes_per_s = 12.5e9;
  const Cluster cluster(one_site({group}));
  // 32 / 8 = 4 NICs of 12.5 GB/s for each GPU: 50 GB/s.
  REQUIRE(cluster.link(cluster.nic_out(Rank{2})) ==
          Link{"node 0 nics 8-11 out", LinkKind::nic, 50e9, 5e-6});
  REQUIRE(cluster.link(cluster.nic_in(Rank{7})) ==
          Link{"node 0 nics 28-31 in", LinkKind::nic, 50e9, 0});
  REQUIRE(cluster.rail(Rank{2}) == 2);
  REQUIRE(cluster.links().size() == 32);  // 8 GPUs x (NVLink + bundle) x 2 directions
}

TEST_CASE("fewer NICs than GPUs are shared by neighbours of one node", "[topology][nic]") {
  NodeGroupSpec group = eight_gpu_nodes(2);
  group.nics_per_node = 2;
  const Cluster cluster(one_site({group}));
  for (int r = 0; r < 16; ++r) {
    CAPTURE(r);
    REQUIRE(cluster.rail(Rank{r}) == (r % 8) / 4);
    const int first = r - r % 4;  // of the four that share
    REQUIRE(cluster.nic_out(Rank{r}) == cluster.nic_out(Rank{first}));
    REQUIRE(cluster.nic_in(Rank{r}) == cluster.nic_in(Rank{first}));
  }
  REQUIRE(cluster.link(cluster.nic_out(Rank{15})) ==
          Link{"node 1 nic 1 out", LinkKind::nic, 50e9, 5e-6});
  REQUIRE(cluster.links().size() == 40);  // 16 GPUs x 2 NVLink + 4 NICs x 2
}

TEST_CASE("one NIC for the whole node is not shared with the next node", "[topology][nic]") {
  NodeGroupSpec group = eight_gpu_nodes(2);
  group.nics_per_node = 1;
  const Cluster cluster(one_site({group}));
  REQUIRE(cluster.nic_out(Rank{0}) == cluster.nic_out(Rank{7}));
  REQUIRE(cluster.nic_out(Rank{7}) != cluster.nic_out(Rank{8}));
  REQUIRE(cluster.link(cluster.nic_in(Rank{8})).name == "node 1 nic 0 in");
}

TEST_CASE("PCIe ports exist only where a rate is given", "[topology][cluster]") {
  NodeGroupSpec limited = eight_gpu_nodes(1);
  limited.pcie_bytes_per_s = 25e9;
  const Cluster cluster(one_site({eight_gpu_nodes(1), limited}));
  REQUIRE_FALSE(cluster.pcie_out(Rank{0}));
  REQUIRE_FALSE(cluster.pcie_in(Rank{0}));
  REQUIRE(cluster.link(*cluster.pcie_out(Rank{8})) ==
          Link{"node 1 gpu 0 pcie out", LinkKind::pcie, 25e9, 0});
  REQUIRE(cluster.link(*cluster.pcie_in(Rank{15})) ==
          Link{"node 1 gpu 7 pcie in", LinkKind::pcie, 25e9, 0});
}

TEST_CASE("link names are distinct", "[topology][cluster]") {
  ClusterSpec spec =
      test::two_sites(3, {.nodes_per_leaf = 2, .rail_optimized = true, .oversubscription = 2});
  spec.groups[1].pcie_bytes_per_s = 25e9;
  spec.fabrics[1] = {.oversubscription = 2};
  const Cluster cluster(spec);
  std::set<std::string> names;
  for (const Link& link : cluster.links()) {
    CAPTURE(link.name);
    REQUIRE(names.insert(link.name).second);
  }
}

TEST_CASE("a cluster of 100,000 GPUs has a linear number of links", "[topology][cluster]") {
  SECTION("flat and non-blocking: four links per GPU") {
    const Cluster cluster(one_site({eight_gpu_nodes(12'500)}));
    REQUIRE(cluster.gpus() == 100'000);
    REQUIRE(cluster.domains() == 12'500);
    REQUIRE(cluster.links().size() == 400'000);
  }
  SECTION("rail-optimised leaves of 32 nodes add two per rail and block") {
    const Cluster cluster(
        one_site({eight_gpu_nodes(12'500)},
                 {.nodes_per_leaf = 32, .rail_optimized = true, .oversubscription = 2}));
    // 391 blocks (12,500 / 32 rounded up) x 8 rails x 2
    REQUIRE(cluster.links().size() == 406'256);
  }
}

TEST_CASE("clusters are equal if their specifications are", "[topology][cluster]") {
  REQUIRE(Cluster(one_site({eight_gpu_nodes(2)})) == Cluster(one_site({eight_gpu_nodes(2)})));
  REQUIRE_FALSE(Cluster(one_site({eight_gpu_nodes(2)})) == Cluster(one_site({eight_gpu_nodes(3)})));
}

TEST_CASE("link kinds are spelled as their enumerators", "[topology][link]") {
  REQUIRE(to_string(LinkKind::nvlink) == "nvlink");
  REQUIRE(to_string(LinkKind::pcie) == "pcie");
  REQUIRE(to_string(LinkKind::nic) == "nic");
  REQUIRE(to_string(LinkKind::fabric) == "fabric");
  REQUIRE(to_string(LinkKind::wan) == "wan");
}

}  // namespace
}  // namespace refit
