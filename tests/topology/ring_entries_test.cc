#include <catch2/catch.hpp>

#include "topology/cluster_yaml.h"
#include "topology/ring_entries.h"

using namespace refit;

namespace {

std::vector<Rank> ranks(int first, int end) {
  std::vector<Rank> list;
  for (int r = first; r < end; ++r) list.emplace_back(r);
  return list;
}

Cluster nodes(int count) {
  NodeGroupSpec group = catalog_cluster("dgx_h100").group;
  group.nodes = count;
  return Cluster({{group}, {{}}, {"here"}, {}});
}

}  // namespace

TEST_CASE("ring entries: equal domains enter by all their members", "[topology][ring_entries]") {
  const Cluster cluster = nodes(2);
  const auto entries = ring_entries(cluster, {ranks(0, 8), ranks(8, 16)});
  REQUIRE(entries == std::vector<std::vector<Rank>>{ranks(0, 8), ranks(8, 16)});
}

TEST_CASE("ring entries: a lone sender fills the NIC of its own rail everywhere",
          "[topology][ring_entries]") {
  // Rank 3 is on rail 3, and so are ranks 11 and 19.
  const Cluster cluster = nodes(3);
  const auto entries = ring_entries(cluster, {{Rank(3)}, ranks(8, 16), ranks(16, 24)});
  REQUIRE(entries == std::vector<std::vector<Rank>>{{Rank(3)}, {Rank(11)}, {Rank(19)}});
}

TEST_CASE("ring entries: without the rail another member is taken, each once",
          "[topology][ring_entries]") {
  const Cluster cluster = nodes(2);
  // Rails 6 and 7 against members on rails 0, 1 and 6.
  const auto entries = ring_entries(cluster, {{Rank(6), Rank(7)}, {Rank(8), Rank(9), Rank(14)}});
  REQUIRE(entries == std::vector<std::vector<Rank>>{{Rank(6), Rank(7)}, {Rank(14), Rank(8)}});
}
