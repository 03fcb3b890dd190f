#include "report/cluster_words.h"

#include <catch2/catch.hpp>

#include "tests/report/sample.h"

namespace refit {
namespace {

TEST_CASE("a cluster is described in a line per group", "[report][cluster]") {
  REQUIRE(cluster_words(Cluster(two_gpu_nodes(3))) ==
          "3 x pair: 2 GPUs in NVLink domains of 2 (100.00 GB/s), 2 NICs of 80.0 Gbit/s");
}

TEST_CASE("what can bind outside the nodes gets a line of its own", "[report][cluster]") {
  ClusterSpec spec = two_gpu_nodes(4);
  spec.groups.push_back(spec.groups[0]);
  spec.groups[1].name = "lonely";
  spec.groups[1].nvlink_domain_gpus = 1;
  spec.groups[1].site = 1;
  spec.sites = {"here", "there"};
  spec.fabrics = {FabricSpec{.nodes_per_leaf = 2, .oversubscription = 3}, FabricSpec{}};
  spec.wans = {{0, 1, 5e9, 0.02}};
  REQUIRE(
      cluster_words(Cluster(spec)) ==
      "4 x pair: 2 GPUs in NVLink domains of 2 (100.00 GB/s), 2 NICs of 80.0 Gbit/s, site here\n"
      "4 x lonely: 2 GPUs without NVLink, 2 NICs of 80.0 Gbit/s, site there\n"
      "here: fabric oversubscribed 3:1, leaves of 2 nodes\n"
      "here - there: 40.0 Gbit/s each way, 20.00 ms");
}

}  // namespace
}  // namespace refit
