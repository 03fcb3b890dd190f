#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "base/error.h"
#include "topology/cluster.h"
#include "topology/cluster_yaml.h"

namespace refit {
namespace {

struct Expected {
  std::string name;
  int gpus_per_node;
  int domain_gpus;
  double nvlink_bytes_per_s;
  int nics_per_node;
  double nic_bytes_per_s;
  double memory_bytes;
};

TEST_CASE("catalog numbers are those of the data sheets", "[topology][catalog]") {
  // NVLink: half of the printed total per GPU (A100 600, H100, H200 and H20 900, Blackwell 1800
  // GB/s; GH200 in fours 6 of 18 links of 25). NIC: EFA 3,200 Gbit/s a node, HDR 200, NDR 400, XDR
  // 800 Gbit/s = 25, 50, 100 GB/s. Memory: as printed, GB = 1e9 bytes.
  const std::vector<Expected> all = {
      {"aws_p5", 8, 8, 450e9, 32, 12.5e9, 80e9},
      {"aws_p5en", 8, 8, 450e9, 16, 25e9, 141e9},
      {"dgx_a100", 8, 8, 300e9, 8, 25e9, 80e9},
      {"dgx_h100", 8, 8, 450e9, 8, 50e9, 80e9},
      {"dgx_h200", 8, 8, 450e9, 8, 50e9, 141e9},
      {"dgx_b200", 8, 8, 900e9, 8, 50e9, 180e9},
      {"gb200_nvl72", 4, 72, 900e9, 4, 50e9, 186e9},
      {"gb300_nvl72", 4, 72, 900e9, 4, 100e9, 279e9},
      {"gh200_slingshot", 4, 4, 150e9, 4, 25e9, 96e9},
      {"hgx_h20", 8, 8, 450e9, 8, 50e9, 96e9},
  };
  std::vector<std::string> names;
  for (const Expected& expected : all) {
    CAPTURE(expected.name);
    names.push_back(expected.name);
    const CatalogCluster entry = catalog_cluster(expected.name);
    const NodeGroupSpec& group = entry.group;
    REQUIRE(entry.name == expected.name);
    REQUIRE(group.name == expected.name);
    REQUIRE(group.nodes == 1);
    REQUIRE(group.gpus_per_node == expected.gpus_per_node);
    REQUIRE(group.nvlink_domain_gpus == expected.domain_gpus);
    REQUIRE(group.domain_sizes.empty());
    REQUIRE(group.nvlink_bytes_per_s == expected.nvlink_bytes_per_s);
    REQUIRE(group.nvlink_latency_s == 2e-6);
    REQUIRE(group.nics_per_node == expected.nics_per_node);
    REQUIRE(group.nic_bytes_per_s == expected.nic_bytes_per_s);
    REQUIRE(group.nic_latency_s == 5e-6);
    REQUIRE_FALSE(group.pcie_bytes_per_s);
    REQUIRE(group.gpu_memory_bytes == expected.memory_bytes);
    REQUIRE(entry.fabric == FabricSpec{});
  }
  REQUIRE(catalog_clusters() == names);
}

TEST_CASE("every catalog number says where it is from, and guesses say so", "[topology][catalog]") {
  for (const std::string& name : catalog_clusters()) {
    CAPTURE(name);
    const CatalogCluster entry = catalog_cluster(name);
    REQUIRE_FALSE(entry.description.empty());
    std::set<std::string> keys;
    for (const auto& [key, source] : entry.sources) {
      CAPTURE(key);
      REQUIRE_FALSE(source.empty());
      REQUIRE(keys.insert(key).second);
      if (key == "nic_latency" || key == "nvlink_latency") REQUIRE(source == "assumption");
    }
    REQUIRE(keys == std::set<std::string>{"gpus_per_node", "nvlink_domain_gpus", "nvlink_bandwidth",
                                          "nvlink_latency", "nics_per_node", "nic_bandwidth",
                                          "nic_latency", "gpu_memory"});
  }
}

TEST_CASE("every catalog entry makes a cluster", "[topology][catalog]") {
  for (const std::string& name : catalog_clusters()) {
    CAPTURE(name);
    CatalogCluster entry = catalog_cluster(name);
    entry.group.nodes = 18;
    const Cluster cluster(
        {.groups = {entry.group}, .fabrics = {entry.fabric}, .sites = {"main"}, .wans = {}});
    REQUIRE(cluster.domains() ==
            (entry.group.nvlink_domain_gpus == 72 ? 1 : 18));  // 18 trays are one rack
  }
}

TEST_CASE("an unknown catalog name is answered with the known ones", "[topology][catalog][error]") {
  try {
    catalog_cluster("dgx_h101");
    FAIL("no error");
  } catch (const Error& error) {
    REQUIRE(error.code() == ErrorCode::bad_input);
    REQUIRE(std::string(error.what()) ==
            "no cluster 'dgx_h101' in the catalog; use one of aws_p5, aws_p5en, dgx_a100, "
            "dgx_h100, dgx_h200, dgx_b200, gb200_nvl72, gb300_nvl72, gh200_slingshot, hgx_h20");
  }
}

}  // namespace
}  // namespace refit
