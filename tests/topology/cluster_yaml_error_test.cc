#include <string>

#include <catch2/catch.hpp>

#include "base/error.h"
#include "topology/cluster_yaml.h"

namespace refit {
namespace {

using Catch::Matchers::StartsWith;

std::string complaint(const std::string& text) {
  try {
    read_cluster(YamlNode::parse_text(text, "test.yaml").at("cluster"));
  } catch (const Error& error) {
    REQUIRE(error.code() == ErrorCode::bad_input);
    return error.what();
  }
  return "accepted";
}

// base/yaml.h words the rest of these; here it matters that each map knows its own keys.
TEST_CASE("a slip of the pen in a key is named", "[topology][yaml][error]") {
  REQUIRE_THAT(complaint("cluster: {catalog: dgx_h100, node: 2}"),
               StartsWith("test.yaml:1:30: cluster: unknown key 'node'; did you mean 'nodes'?"));
  REQUIRE_THAT(
      complaint("cluster: {groups: [{catalog: dgx_h100, nodes: 2, sites: x}]}"),
      StartsWith("test.yaml:1:50: cluster.groups[0]: unknown key 'sites'; did you mean 'site'?"));
  REQUIRE_THAT(complaint("cluster: {catalog: dgx_h100, nodes: 2, fabric: {oversubscribed: 2}}"),
               StartsWith("test.yaml:1:49: cluster.fabric: unknown key 'oversubscribed'"));
  REQUIRE_THAT(complaint("cluster: {groups: [{catalog: dgx_h100, nodes: 2, fabric: {}}]}"),
               StartsWith("test.yaml:1:50: cluster.groups[0]: unknown key 'fabric'"));
  REQUIRE(complaint("cluster: dgx_h100") ==
          "test.yaml:1:10: cluster: expected a map, got 'dgx_h100'");
}

TEST_CASE("missing keys are named", "[topology][yaml][error]") {
  REQUIRE(complaint("cluster: {catalog: dgx_h100}") ==
          "test.yaml:1:10: cluster: missing key 'nodes'");
  REQUIRE(complaint("cluster: {nodes: 2}") ==
          "test.yaml:1:10: cluster: missing key 'gpus_per_node'");
  REQUIRE(complaint("cluster: {nodes: 2, gpus_per_node: 8}") ==
          "test.yaml:1:10: cluster: missing key 'nvlink_domain_gpus'");
  REQUIRE(complaint("cluster: {nodes: 2, gpus_per_node: 8, nvlink_domain_gpus: 8}") ==
          "test.yaml:1:10: cluster: missing key 'nvlink_bandwidth'");
  REQUIRE(complaint("cluster: {nodes: 2, gpus_per_node: 8, domain_sizes: [16]}") ==
          "test.yaml:1:10: cluster: missing key 'nvlink_bandwidth'");
  REQUIRE(complaint("cluster: {nodes: 2, gpus_per_node: 8, nvlink_domain_gpus: 1}") ==
          "test.yaml:1:10: cluster: missing key 'nics_per_node'");
  REQUIRE(
      complaint("cluster: {nodes: 2, gpus_per_node: 8, nvlink_domain_gpus: 1, nics_per_node: 8}") ==
      "test.yaml:1:10: cluster: missing key 'nic_bandwidth'");
}

TEST_CASE("numbers need units, and integers a sensible range", "[topology][yaml][error]") {
  REQUIRE_THAT(complaint("cluster: {catalog: dgx_h100, nodes: 2, nic_bandwidth: 400}"),
               StartsWith("test.yaml:1:55: cluster.nic_bandwidth: 400: a number without a unit"));
  REQUIRE_THAT(complaint("cluster: {catalog: dgx_h100, nodes: 2, nic_latency: 5}"),
               StartsWith("test.yaml:1:53: cluster.nic_latency: 5: a number without a unit"));
  REQUIRE_THAT(complaint("cluster: {catalog: dgx_h100, nodes: 2, gpu_memory: 80}"),
               StartsWith("test.yaml:1:52: cluster.gpu_memory: 80: a number without a unit"));
  REQUIRE(complaint("cluster: {catalog: dgx_h100, nodes: 0}") ==
          "test.yaml:1:37: cluster.nodes: expected an integer from 1 to 1000000, got '0'");
  REQUIRE(complaint("cluster: {catalog: dgx_h100, nodes: two}") ==
          "test.yaml:1:37: cluster.nodes: expected an integer from 1 to 1000000, got 'two'");
  REQUIRE(complaint("cluster: {catalog: dgx_h100, nodes: 2, fabric: {nodes_per_leaf: -1}}") ==
          "test.yaml:1:65: cluster.fabric.nodes_per_leaf: expected an integer from 0 to 1000000, "
          "got '-1'");
}

TEST_CASE("an unknown catalog name is answered with the known ones, at its place",
          "[topology][yaml][error]") {
  REQUIRE(complaint("cluster: {catalog: dgx_h101, nodes: 2}") ==
          "test.yaml:1:20: cluster.catalog: no cluster 'dgx_h101' in the catalog; use one of "
          "aws_p5, aws_p5en, dgx_a100, dgx_h100, dgx_h200, dgx_b200, gb200_nvl72, gb300_nvl72, "
          "gh200_slingshot, hgx_h20");
}

TEST_CASE("names are short and printable", "[topology][yaml][error]") {
  const std::string message = "expected a name of 1 to 64 bytes without control characters";
  REQUIRE(complaint("cluster: {catalog: \"dgx\\e[2J\", nodes: 2}") ==
          "test.yaml:1:20: cluster.catalog: " + message);
  REQUIRE(complaint("cluster: {name: \"\", catalog: dgx_h100, nodes: 2}") ==
          "test.yaml:1:17: cluster.name: " + message);
  REQUIRE(complaint("cluster: {name: " + std::string(65, 'x') + ", catalog: dgx_h100, nodes: 2}") ==
          "test.yaml:1:17: cluster.name: " + message);
  REQUIRE(complaint("cluster: {name: " + std::string(64, 'x') + ", catalog: dgx_h100, nodes: 2}") ==
          "accepted");
}

TEST_CASE("what does not add up is shown where it is written", "[topology][yaml][error]") {
  REQUIRE(complaint("cluster: {catalog: dgx_h100, nodes: 2, nics_per_node: 3}") ==
          "test.yaml:1:55: cluster.nics_per_node: 3 NICs can't be spread evenly over 8 GPUs; use a "
          "multiple or a divisor of 8, or write gpu_nics");
  REQUIRE(complaint("cluster:\n  groups:\n    - {catalog: dgx_h100, nodes: 2}\n    - {catalog: "
                    "gb200_nvl72, nodes: 46, "
                    "domain_sizes: [72, 72, 41]}") ==
          "test.yaml:4:55: cluster.groups[1].domain_sizes: the sizes add up to 185, the group has "
          "184 GPUs (46 nodes of 4)");
  REQUIRE(complaint("cluster: {catalog: dgx_h100, nodes: 200000}") ==
          "test.yaml:1:37: cluster.nodes: the cluster has 1600000 GPUs up to here; at most 1000000 "
          "are allowed");
  // 60,000 nodes on leaves of their own, 8 rails, 1024 cables each: half a billion links.
  REQUIRE(
      complaint("cluster: {catalog: dgx_h100, nodes: 60000, fabric: {nodes_per_leaf: 1, "
                "rail_optimized: true, spines: 1024}}") ==
      "test.yaml:1:102: cluster.fabric.spines: 480000 leaves with 1024 cables each are more than "
      "1048576 cables; use fewer spines or more nodes_per_leaf");
  REQUIRE(complaint("cluster: {catalog: dgx_h100, nodes: 2, fabric: {oversubscription: 0.5}}") ==
          "test.yaml:1:67: cluster.fabric.oversubscription: must be from 1 to 1000, got 0.5");
  REQUIRE(complaint("cluster: {catalog: dgx_h100, nodes: 2, fabric: {rail_optimized: true}}") ==
          "test.yaml:1:65: cluster.fabric.rail_optimized: a flat fabric has no rails; give "
          "nodes_per_leaf too");
}

TEST_CASE("using part of a node's GPUs asks for the domain and the NICs too",
          "[topology][yaml][error]") {
  // Half a DGX per node would make 8-GPU domains of two nodes: NVLink where there is none.
  REQUIRE(complaint("cluster: {catalog: dgx_h100, nodes: 2, gpus_per_node: 4}") ==
          "test.yaml:1:55: cluster.gpus_per_node: the catalog's node has 8 GPUs; write "
          "nvlink_domain_gpus (or domain_sizes) and nics_per_node for 4 too");
  REQUIRE(
      complaint("cluster: {catalog: dgx_h100, nodes: 2, gpus_per_node: 4, nvlink_domain_gpus: 4, "
                "nics_per_node: 4}") == "accepted");
  REQUIRE(complaint("cluster: {catalog: dgx_h100, nodes: 2, gpus_per_node: 8}") == "accepted");
}

TEST_CASE("domains are given in one way", "[topology][yaml][error]") {
  REQUIRE(
      complaint(
          "cluster: {catalog: dgx_h100, nodes: 2, nvlink_domain_gpus: 8, domain_sizes: [16]}") ==
      "test.yaml:1:77: cluster.domain_sizes: stands beside nvlink_domain_gpus; use one of the two");
  REQUIRE(
      complaint("cluster: {catalog: dgx_h100, nodes: 2, domain_sizes: []}") ==
      "test.yaml:1:54: cluster.domain_sizes: list at least one size, or use nvlink_domain_gpus");
  REQUIRE(
      complaint("cluster: {catalog: dgx_h100, nodes: 2, domain_sizes: [16, 0]}") ==
      "test.yaml:1:59: cluster.domain_sizes[1]: expected an integer from 1 to 1000000, got '0'");
}

TEST_CASE("the two forms don't mix", "[topology][yaml][error]") {
  REQUIRE(complaint("cluster: {nodes: 2, groups: [{catalog: dgx_h100, nodes: 2}]}") ==
          "test.yaml:1:18: cluster.nodes: stands beside 'groups'; write it into the group it "
          "belongs to");
  REQUIRE(complaint("cluster: {nic_latency: 5 us, groups: [{catalog: dgx_h100, nodes: 2}]}") ==
          "test.yaml:1:24: cluster.nic_latency: stands beside 'groups'; write it into the group it "
          "belongs to");
  REQUIRE(complaint("cluster: {catalog: dgx_h100, nodes: 2, sites: [{name: a}]}") ==
          "test.yaml:1:47: cluster.sites: sites are for a cluster with 'groups'; list its groups");
  REQUIRE(complaint("cluster: {groups: []}") ==
          "test.yaml:1:19: cluster.groups: a cluster needs at least one group of nodes");
  REQUIRE(
      complaint(
          "cluster: {groups: [{catalog: dgx_h100, nodes: 2}], sites: [{name: a}], fabric: {}}") ==
      "test.yaml:1:80: cluster.fabric: stands beside 'sites'; write it into the site it belongs "
      "to");
  REQUIRE(complaint("cluster: {groups: [{catalog: dgx_h100, nodes: 2}], sites: []}") ==
          "test.yaml:1:59: cluster.sites: name at least one site, or leave 'sites' out");
}

std::string two_sites(const std::string& group_site, const std::string& wan) {
  return "cluster:\n  sites: [{name: east}, {name: west}]\n  groups:\n    - {catalog: dgx_h100, "
         "nodes: 1, site: east}\n"
         "    - {catalog: dgx_h100, nodes: 1" +
         group_site + "}\n  wan:\n    - " + wan + "\n";
}

TEST_CASE("sites are named by groups and WAN links", "[topology][yaml][error][wan]") {
  const std::string wan = "{between: [east, west], bandwidth: 100 Gbit/s, latency: 30 ms}";
  REQUIRE(complaint(two_sites(", site: west", wan)) == "accepted");
  REQUIRE(complaint(two_sites("", wan)) == "test.yaml:5:7: cluster.groups[1]: missing key 'site'");
  REQUIRE(complaint(two_sites(", site: north", wan)) ==
          "test.yaml:5:43: cluster.groups[1].site: no site 'north'; use one of east, west");
  REQUIRE(complaint(two_sites(", site: east", wan)) ==
          "test.yaml:2:32: cluster.sites[1].name: site 'west' has no nodes");
  REQUIRE(complaint(two_sites(", site: west",
                              "{between: [east], bandwidth: 100 Gbit/s, latency: 30 ms}")) ==
          "test.yaml:7:17: cluster.wan[0].between: a link joins 2 sites, got 1; write [a, b]");
  REQUIRE(
      complaint(two_sites(", site: west",
                          "{between: [east, east], bandwidth: 100 Gbit/s, latency: 30 ms}")) ==
      "test.yaml:7:17: cluster.wan[0].between: joins 'east' to itself; name two different sites");
  REQUIRE(complaint(two_sites(", site: west", "{between: [east, west], latency: 30 ms}")) ==
          "test.yaml:7:7: cluster.wan[0]: missing key 'bandwidth'");
  REQUIRE(complaint(two_sites(", site: west", wan + "\n    - " + wan)) ==
          "test.yaml:8:17: cluster.wan[1].between: 'east' and 'west' are already joined; write one "
          "link with the bandwidth of both");
  REQUIRE(complaint("cluster:\n  sites: [{name: a}, {name: a}]\n  groups: [{catalog: dgx_h100, "
                    "nodes: 1, site: a}]") ==
          "test.yaml:2:29: cluster.sites[1].name: two sites are called 'a'");
}

}  // namespace
}  // namespace refit
