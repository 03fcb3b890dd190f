#include <string>

#include <catch2/catch.hpp>

#include "base/error.h"
#include "tests/topology/small_clusters.h"
#include "topology/cluster_yaml.h"
#include "topology/route.h"

namespace refit {
namespace {

const std::string kStore =
    "{name: s3, site: east, bandwidth: 100 Gbit/s, per_connection: 88 MB/s, connections: 25, "
    "request_latency: 30 ms, part: 8 MiB}";

std::string with_store(const std::string& store) {
  return "cluster:\n"
         "  sites: [{name: east}, {name: west}]\n"
         "  groups:\n"
         "    - {catalog: dgx_h100, nodes: 1, site: east}\n"
         "    - {catalog: dgx_h100, nodes: 1, site: west}\n"
         "  wan: [{between: [east, west], bandwidth: 100 Gbit/s, latency: 30 ms, per_flow: 5 "
         "Gbit/s}]\n"
         "  stores:\n"
         "    - " +
         store + "\n";
}

ClusterSpec read(const std::string& text) {
  return read_cluster(YamlNode::parse_text(text, "test.yaml").at("cluster"));
}

std::string complaint(const std::string& text) {
  try {
    read(text);
  } catch (const Error& error) {
    REQUIRE(error.code() == ErrorCode::bad_input);
    return error.what();
  }
  return "accepted";
}

std::string with(std::string text, const std::string& old, const std::string& fresh) {
  return text.replace(text.find(old), old.size(), fresh);
}

TEST_CASE("a store is a rank behind the GPUs, in a domain of its own at its site", "[topology]") {
  const Cluster cluster(read(with_store(kStore)));
  CHECK(cluster.gpus() == 16);
  CHECK(cluster.ranks() == 17);
  CHECK(cluster.store(Rank(15)) == nullptr);
  REQUIRE(cluster.store(Rank(16)) != nullptr);
  CHECK(*cluster.store(Rank(16)) ==
        StoreSpec{"s3", 0, 12.5e9, 88e6, 25, 0.03, std::int64_t{8} << 20});
  CHECK(cluster.store_rank(0) == Rank(16));
  CHECK(cluster.site(Rank(16)) == SiteId{0});
  CHECK(cluster.domain_ranks(cluster.domain(Rank(16))).size() == 1);
  CHECK(cluster.group(Rank(16)).name == "store s3");
  CHECK(test::names(cluster, route(cluster, Rank(3), Rank(16)).links) ==
        std::vector<std::string>{"node 0 nic 3 out", "store s3 in"});
  CHECK(test::names(cluster, route(cluster, Rank(16), Rank(9)).links) ==
        std::vector<std::string>{"store s3 out", "wan east to west", "node 1 nic 1 in"});
}

TEST_CASE("a limit per flow holds between the sites of its link only", "[topology]") {
  const Cluster cluster(read(with_store(kStore)));
  CHECK(route(cluster, Rank(0), Rank(8)).flow_bytes_per_s == 0.625e9);
  CHECK(route(cluster, Rank(8), Rank(0)).flow_bytes_per_s == 0.625e9);
  CHECK(route(cluster, Rank(0), Rank(1)).flow_bytes_per_s == 0);
  CHECK(route(cluster, Rank(0), Rank(16)).flow_bytes_per_s == 0);
  CHECK(Cluster(test::two_sites(1)).wan_flow_bytes_per_s(SiteId{0}, SiteId{1}) == 0);
}

TEST_CASE("an object goes in parts over the connections that a client has", "[topology]") {
  StoreSpec store;
  store.connections = 4;
  store.part_bytes = 10;
  const auto requests = [&](std::int64_t bytes) {
    const StoreRequests r = store_requests(store, bytes);
    return std::vector<std::int64_t>{r.parts, r.connections, r.turns};
  };
  CHECK(requests(1) == std::vector<std::int64_t>{1, 1, 1});
  CHECK(requests(20) == std::vector<std::int64_t>{2, 2, 1});
  CHECK(requests(41) == std::vector<std::int64_t>{5, 4, 2});  // the fifth part waits for a turn
  CHECK(requests(80) == std::vector<std::int64_t>{8, 4, 2});
}

TEST_CASE("what is wrong with a store or a WAN link's flows is said with its place",
          "[topology][yaml][error]") {
  CHECK(complaint(with_store(with(kStore, "site: east, ", ""))) ==
        "test.yaml:8:7: cluster.stores[0]: missing key 'site'");
  CHECK_THAT(complaint(with_store(with(kStore, "part: 8 MiB", "part: 0 B"))),
             Catch::Matchers::EndsWith("cluster.stores[0].part: must be 1 B or more, got 0 B"));
  CHECK(complaint(with_store(with(kStore, "connections: 25", "connections: 0"))) ==
        "test.yaml:8:91: cluster.stores[0].connections: expected an integer from 1 to 10000, got "
        "'0'");
  CHECK(complaint(with_store(kStore + "\n    - " + kStore)) ==
        "test.yaml:9:14: cluster.stores[1].name: two stores are called 's3'");
  CHECK_THAT(complaint(with_store(with(kStore, "bandwidth", "rate"))),
             Catch::Matchers::StartsWith("test.yaml:8:30: cluster.stores[0]: unknown key 'rate'"));
  CHECK_THAT(complaint(with(with_store(kStore), "per_flow: 5 Gbit/s", "per_flow: 5")),
             Catch::Matchers::Contains("cluster.wan[0].per_flow"));
}

}  // namespace
}  // namespace refit
