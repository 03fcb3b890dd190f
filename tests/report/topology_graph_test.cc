#include "report/topology_graph.h"

#include <string>

#include <catch2/catch.hpp>

#include "tests/report/read_graph.h"
#include "tests/report/sample.h"

namespace refit {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// The first two GPUs are sources, the next one a destination.
Refit question(int ranks) {
  Refit refit;
  refit.ranks = ranks;
  refit.sources = {Rank{0}, Rank{1}};
  refit.destinations = {Rank{2}};
  return refit;
}

TEST_CASE("nodes alike are drawn once with their count", "[report][graph]") {
  ClusterSpec spec = two_gpu_nodes(2);
  spec.groups.push_back(spec.groups.front());  // written apart, but equal
  const Cluster cluster(spec);
  const ReadGraph graph(topology_graph(cluster, question(8)));
  CHECK(graph.title() ==
        "Machines: 8 GPUs in 4 nodes\\lWhat is alike is drawn once. Rates are per direction.\\l");
  CHECK(graph.boxes() == 1);
  CHECK(attribute(graph.box("cluster_nodes_0"), "label") ==
        "4 nodes alike: pair\\l8 GPUs: 2 source, 1 destination\\l");
  // GPUs, NVLink, NICs and the fabric, in a row.
  CHECK(graph.nodes() == 4);
  CHECK(graph.edges() == 3);
  CHECK(attribute(graph.node("GPUs 0"), "label") == "2 GPUs per node\\n80.00 GB of memory each");
  CHECK(attribute(graph.node("NICs 0"), "label") == "2 NICs per node\\n80.0 Gbit/s each, 5.00 us");
  CHECK(attribute(graph.node("NVLink 0"), "label") ==
        "NVLink inside the node\\n100.00 GB/s per GPU, 1.00 us");
  CHECK(words_at(graph.edge("NICs 0", "GPUs 0")) == "1 NIC per GPU");
  CHECK(words_at(graph.edge("fabric 0", "NICs 0")) == "160.0 Gbit/s per node");
}

TEST_CASE("leaves alike are drawn once, with what their trunks carry", "[report][graph]") {
  ClusterSpec spec = two_gpu_nodes(5);
  spec.fabrics[0].nodes_per_leaf = 2;
  spec.fabrics[0].oversubscription = 2;
  const ReadGraph graph(topology_graph(Cluster(spec), question(10)));
  // Two leaves of 2 nodes and one of 1: 4 NICs of 80 Gbit/s halved, and 2 of them halved.
  CHECK(attribute(graph.node("leaf 0"), "label") == "2 leaves alike\\n320.0 Gbit/s of NICs each");
  CHECK(attribute(graph.node("leaf 1"), "label") == "1 leaf\\n160.0 Gbit/s of NICs each");
  CHECK(words_at(graph.edge("fabric 0", "leaf 0")) == "160.0 Gbit/s per leaf");
  CHECK(words_at(graph.edge("fabric 0", "leaf 1")) == "80.0 Gbit/s per leaf");
  CHECK(words_at(graph.edge("leaf 0", "NICs 0")) == "2 nodes per leaf");
  CHECK(has(attribute(graph.node("fabric 0"), "label"), "oversubscribed 2:1"));
}

TEST_CASE("sites are boxes joined by their WAN, with their stores", "[report][graph]") {
  ClusterSpec spec = two_gpu_nodes(1);
  spec.sites = {"here", "there"};
  spec.fabrics.push_back(FabricSpec{});
  spec.groups.push_back(spec.groups.front());
  spec.groups.back().site = 1;
  spec.wans.push_back({0, 1, 1.25e9, 0.03, 0});
  StoreSpec store;
  store.name = "bucket";
  store.site = 1;
  store.bytes_per_s = 5e9;
  store.connection_bytes_per_s = 1e9;
  store.connections = 4;
  store.request_latency_s = 0.02;
  store.part_bytes = 8'000'000;
  spec.stores.push_back(store);
  const ReadGraph graph(topology_graph(Cluster(spec), question(5)));
  CHECK(attribute(graph.box("cluster_site_1"), "label") == "site there");
  CHECK(words_at(graph.edge("fabric 0", "fabric 1")) == "WAN: 10.0 Gbit/s each way,\n30.00 ms");
  CHECK(words_at(graph.edge("fabric 1", "store 0")) == "40.0 Gbit/s in all");
  // The sites' nodes are equal but for the site: each is drawn in its own.
  CHECK(has(attribute(graph.node("GPUs 1"), "label"), "2 GPUs per node"));
}

TEST_CASE("domains larger than a node, and uneven ones, are said", "[report][graph]") {
  ClusterSpec spec = two_gpu_nodes(4);
  spec.groups[0].nvlink_domain_gpus = 4;
  const ReadGraph racks(topology_graph(Cluster(spec), question(8)));
  CHECK(has(attribute(racks.node("NVLink 0"), "label"),
            "2 NVLink domains alike:\\n4 GPUs in 2 nodes"));
  spec.groups[0].domain_sizes = {4, 2, 2};
  const ReadGraph uneven(topology_graph(Cluster(spec), question(8)));
  CHECK(has(attribute(uneven.node("NVLink 0"), "label"),
            "NVLink domains:\\n2 of 2 GPUs,\\n1 of 4 GPUs"));
}

TEST_CASE("of many kinds of nodes the largest are drawn and the others counted",
          "[report][graph]") {
  ClusterSpec spec = two_gpu_nodes(1);
  for (int kind = 1; kind < 20; ++kind) {
    spec.groups.push_back(spec.groups.front());
    spec.groups.back().nic_bytes_per_s += kind * 1e9;
  }
  spec.groups[17].nodes = 3;
  const ReadGraph graph(topology_graph(Cluster(spec), question(8)));
  CHECK(has(graph.title(), "Not drawn: 8 more kinds of nodes."));
  CHECK(graph.boxes() == 12);
  CHECK(has(attribute(graph.box("cluster_nodes_17"), "label"), "3 nodes alike"));
}

}  // namespace
}  // namespace refit
