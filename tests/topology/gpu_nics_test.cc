#include <catch2/catch.hpp>

#include "base/yaml.h"
#include "topology/cluster_yaml.h"
#include "topology/route.h"

using namespace refit;

namespace {

constexpr const char* kNodes =
    "nodes: 2\ngpus_per_node: 4\nnvlink_domain_gpus: 4\nnvlink_bandwidth: 450 GB/s\n"
    "nics_per_node: 3\nnic_bandwidth: 400 Gbit/s\n";

Cluster cluster(const std::string& rest) {
  return Cluster(read_cluster(YamlNode::parse_text(kNodes + rest, "c.yaml")));
}

const std::string kGpuNics =
    "gpu_nics:\n- {nics: [0, 2], distance: PIX}\n- {nics: [1], distance: PIX}\n"
    "- {nics: [0, 2], distance: PIX}\n- {nics: [1], distance: SYS}\n";

}  // namespace

TEST_CASE("gpu nics: GPUs with the same NICs share one link of their sum", "[topology]") {
  const Cluster c = cluster(kGpuNics);
  REQUIRE(c.nic_out(Rank(0)) == c.nic_out(Rank(2)));
  REQUIRE(c.nic_out(Rank(1)) == c.nic_out(Rank(3)));
  REQUIRE(c.nic_out(Rank(0)) != c.nic_out(Rank(4)));  // another node
  REQUIRE(c.link(c.nic_out(Rank(0))).bandwidth_bytes_per_s == 100e9);
  REQUIRE(c.link(c.nic_out(Rank(0))).name == "node 0 nics 0,2 out");
  REQUIRE(c.link(c.nic_in(Rank(7))).name == "node 1 nic 1 in");
  REQUIRE(c.rail(Rank(3)) == 1);
  REQUIRE_FALSE(c.pcie_out(Rank(3)));
}

TEST_CASE("gpu nics: each distance has a rate of its own", "[topology]") {
  const Cluster c = cluster(kGpuNics + "distances: {PIX: 55 GB/s, SYS: 20 GB/s}\n");
  REQUIRE(c.link(*c.pcie_out(Rank(1))).bandwidth_bytes_per_s == 55e9);
  REQUIRE(c.link(*c.pcie_out(Rank(3))).bandwidth_bytes_per_s == 20e9);
  REQUIRE(route(c, Rank(3), Rank(5)).links ==
          std::vector<LinkId>{*c.pcie_out(Rank(3)), c.nic_out(Rank(3)), c.nic_in(Rank(5)),
                              *c.pcie_in(Rank(5))});
}

TEST_CASE("gpu nics: a trunk counts a shared NIC once", "[topology]") {
  const Cluster c = cluster(kGpuNics + "fabric: {nodes_per_leaf: 1, oversubscription: 2}\n");
  // Three NICs of 50 GB/s, halved.
  REQUIRE(c.link(*c.leaf_up(Rank(0))).bandwidth_bytes_per_s == 75e9);
}

TEST_CASE("fabric: leaves and trunks written out", "[topology]") {
  const Cluster c = Cluster(read_cluster(
      YamlNode::parse_text("nodes: 3\ngpus_per_node: 2\nnvlink_domain_gpus: 1\nnics_per_node: "
                           "2\nnic_bandwidth: 50 GB/s\n"
                           "fabric: {leaf_nodes: [2, 1], rail_optimized: true, "
                           "trunk_bandwidths: [80 GB/s, 100 GB/s, 40 GB/s, 60 GB/s]}\n",
                           "c.yaml")));
  REQUIRE(c.leaf(Rank(2)) == 0);
  REQUIRE(c.leaf(Rank(3)) == 1);
  REQUIRE(c.leaf(Rank(4)) == 2);
  REQUIRE(c.link(*c.leaf_up(Rank(0))).bandwidth_bytes_per_s == 80e9);
  REQUIRE_FALSE(c.leaf_up(Rank(1)));  // carries its two NICs
  REQUIRE(c.link(*c.leaf_down(Rank(4))).bandwidth_bytes_per_s == 40e9);
  REQUIRE_FALSE(c.leaf_up(Rank(5)));
}

TEST_CASE("gpu nics and fabric lists: what does not add up is said", "[topology]") {
  const auto [rest, message] = GENERATE(table<std::string, std::string>({
      {"",
       "c.yaml:5:16: nics_per_node: 3 NICs can't be spread evenly over 4 GPUs; use a multiple or "
       "a divisor of 4, or write gpu_nics"},
      {"gpu_nics: [{nics: [0]}]\n",
       "c.yaml:7:11: gpu_nics: there must be one item for each of the 4 GPUs of a node, got 1"},
      {"gpu_nics: [{nics: [0]}, {nics: [0, 1]}, {nics: [2]}, {nics: [2]}]\n",
       "c.yaml:7:11: gpu_nics: GPUs 0 and 1 share NIC 0 but not all NICs; GPUs share all of theirs "
       "or "
       "none"},
      {"gpu_nics: [{nics: [0]}, {nics: [3]}, {nics: [2]}, {nics: [2]}]\n",
       "c.yaml:7:11: gpu_nics: GPU 1 uses NIC 3, but a node has NICs 0 to 2"},
      {"gpu_nics: [{nics: [1, 0]}, {nics: [2]}, {nics: [2]}, {nics: [2]}]\n",
       "c.yaml:7:11: gpu_nics: the NICs of GPU 0 must be in rising order, each once"},
      {"gpu_nics: [{nics: [0], distance: SYS}, {nics: [1]}, {nics: [2]}, {nics: [2]}]\n"
       "distances: {SYS: 20 GB/s}\n",
       "c.yaml:7:11: gpu_nics: GPU 0 has a rate to its NICs and GPU 1 has none; give every "
       "distance a "
       "rate, or pcie_bandwidth for the rest"},
      {"distances: {SYS: 20 GB/s}\n",
       "c.yaml:7:12: distances: rates of distances are for gpu_nics; write which GPU is how far"},
      {kGpuNics + "fabric: {leaf_nodes: [1]}\n",
       "c.yaml:12:22: fabric.leaf_nodes: the leaves have 1 nodes, the site has 2"},
      {kGpuNics + "fabric: {nodes_per_leaf: 1, trunk_bandwidths: [1 GB/s]}\n",
       "c.yaml:12:47: fabric.trunk_bandwidths: there are 2 leaves, got 1 rates"},
  }));
  CAPTURE(rest);
  REQUIRE_THROWS_WITH(cluster(rest), message);
}
