#include "topology/cluster_yaml.h"

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/topology/small_clusters.h"

namespace refit {
namespace {

ClusterSpec read(const std::string& text) {
  return read_cluster(YamlNode::parse_text(text, "test.yaml").at("cluster"));
}

TEST_CASE("a catalog entry needs only the number of nodes", "[topology][yaml]") {
  const ClusterSpec spec = read("cluster: {catalog: dgx_h100, nodes: 64}");
  NodeGroupSpec expected = catalog_cluster("dgx_h100").group;
  expected.nodes = 64;
  REQUIRE(spec == test::one_site({expected}));
  REQUIRE(Cluster(spec).gpus() == 512);
}

TEST_CASE("any number of a catalog entry can be overridden", "[topology][yaml]") {
  const ClusterSpec spec = read(R"(
cluster:
  catalog: gb200_nvl72
  name: rack of 64
  nodes: 32
  nvlink_domain_gpus: 64
  nvlink_bandwidth: 800 GB/s
  nvlink_latency: 3 us
  nics_per_node: 8
  nic_bandwidth: 200 Gbit/s
  nic_latency: 7 us
  pcie_bandwidth: 32 GB/s
  gpu_memory: 180 GB
)");
  NodeGroupSpec expected;
  expected.name = "rack of 64";
  expected.nodes = 32;
  expected.gpus_per_node = 4;  // the only number left to the catalog
  expected.nvlink_domain_gpus = 64;
  expected.nvlink_bytes_per_s = 800e9;
  expected.nvlink_latency_s = 3e-6;
  expected.nics_per_node = 8;
  expected.nic_bytes_per_s = 25e9;
  expected.nic_latency_s = 7e-6;
  expected.pcie_bytes_per_s = 32e9;
  expected.gpu_memory_bytes = 180e9;
  REQUIRE(spec == test::one_site({expected}));
}

TEST_CASE("a group written in full needs no catalog, latencies or memory", "[topology][yaml]") {
  const ClusterSpec spec = read(R"(
cluster:
  nodes: 2
  gpus_per_node: 8
  nvlink_domain_gpus: 8
  nvlink_bandwidth: 450 GB/s
  nics_per_node: 8
  nic_bandwidth: 400 Gbit/s
)");
  NodeGroupSpec expected = test::eight_gpu_nodes(2);  // 2 us and 5 us, the documented assumptions
  expected.name = "nodes";
  expected.gpu_memory_bytes = 0;  // not known
  REQUIRE(spec == test::one_site({expected}));
}

TEST_CASE("GPUs without NVLink need no NVLink rate", "[topology][yaml]") {
  const Cluster cluster(
      read("cluster: {nodes: 2, gpus_per_node: 4, nvlink_domain_gpus: 1, nics_per_node: 1, "
           "nic_bandwidth: 100 Gbit/s}"));
  REQUIRE(cluster.domains() == 8);
  REQUIRE_FALSE(cluster.nvlink_out(Rank{0}));
}

TEST_CASE("uneven racks are written as domain sizes", "[topology][yaml]") {
  const Cluster cluster(
      read("cluster: {catalog: gb200_nvl72, nodes: 46, domain_sizes: [72, 72, 40]}"));
  REQUIRE(test::domain_sizes(cluster) == std::vector<std::size_t>{72, 72, 40});  // 46 * 4 = 184
}

TEST_CASE("a fabric is read key by key", "[topology][yaml]") {
  const ClusterSpec spec = read(R"(
cluster:
  catalog: dgx_h100
  nodes: 64
  fabric: {nodes_per_leaf: 32, rail_optimized: true, oversubscription: 1.5, spines: 8, latency: 1 us}
)");
  REQUIRE(spec.fabrics == std::vector<FabricSpec>{{.nodes_per_leaf = 32,
                                                   .rail_optimized = true,
                                                   .oversubscription = 1.5,
                                                   .spines = 8,
                                                   .latency_s = 1e-6}});
}

TEST_CASE("groups of one site share its fabric", "[topology][yaml]") {
  const ClusterSpec spec = read(R"(
cluster:
  groups:
    - {catalog: dgx_h100, nodes: 2}
    - {catalog: dgx_h200, nodes: 3, name: rollout}
  fabric: {oversubscription: 2}
)");
  REQUIRE(spec.sites == std::vector<std::string>{"main"});
  REQUIRE(spec.fabrics == std::vector<FabricSpec>{{.oversubscription = 2}});
  REQUIRE(spec.groups.size() == 2);
  REQUIRE(spec.groups[0].name == "dgx_h100");
  REQUIRE(spec.groups[1].name == "rollout");
  REQUIRE(Cluster(spec).gpus() == 40);
}

TEST_CASE("sites have names, fabrics and WAN links", "[topology][yaml][wan]") {
  const ClusterSpec spec = read(R"(
cluster:
  sites:
    - {name: east, fabric: {nodes_per_leaf: 4, oversubscription: 2}}
    - name: west
  groups:
    - {catalog: dgx_h100, nodes: 8, site: west}
    - {catalog: gb200_nvl72, nodes: 18, site: east}
  wan:
    - {between: [east, west], bandwidth: 100 Gbit/s, latency: 30 ms}
)");
  REQUIRE(spec.sites == std::vector<std::string>{"east", "west"});
  REQUIRE(spec.groups[0].site == 1);
  REQUIRE(spec.groups[1].site == 0);
  REQUIRE(spec.fabrics ==
          std::vector<FabricSpec>{{.nodes_per_leaf = 4, .oversubscription = 2}, {}});
  REQUIRE(spec.wans == std::vector<WanSpec>{
                           {.site_a = 0, .site_b = 1, .bytes_per_s = 12.5e9, .latency_s = 0.03}});
}

// A format page whose examples don't work teaches errors.
TEST_CASE("the examples in the documentation are read", "[topology][yaml][docs]") {
  std::ifstream page(REFIT_DOCS "/cluster_format.md");
  REQUIRE(page);
  std::vector<Cluster> clusters;
  std::string line, example;
  bool inside = false;
  while (std::getline(page, line)) {
    if (line == "```yaml") {
      inside = true;
      example.clear();
    } else if (line == "```" && inside) {
      inside = false;
      CAPTURE(example);
      clusters.emplace_back(read(example));
    } else if (inside) {
      example += line + '\n';
    }
  }
  REQUIRE(clusters.size() == 5);
  REQUIRE(clusters[0].gpus() == 512);
}

}  // namespace
}  // namespace refit
