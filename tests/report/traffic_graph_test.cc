#include "report/traffic_graph.h"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/report/read_graph.h"
#include "tests/report/sample.h"

namespace refit {
namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

// Half of the nodes are sources, half are destinations.
Refit halves(int nodes) {
  Refit refit;
  refit.ranks = 2 * nodes;
  for (int rank = 0; rank < nodes; ++rank) refit.sources.emplace_back(rank);
  for (int rank = nodes; rank < 2 * nodes; ++rank) refit.destinations.emplace_back(rank);
  return refit;
}

TEST_CASE("the table has senders down and receivers across, with sums", "[report][graph]") {
  const Cluster cluster(two_gpu_nodes(4));
  // 0 -> 2: 4 MB, 1 -> 2: 1 MB; 2 MB stay in 2; domain 3 takes no part.
  std::vector<double> bytes(16, 0);
  bytes[0 * 4 + 2] = 4e6;
  bytes[1 * 4 + 2] = 1e6;
  bytes[2 * 4 + 2] = 2e6;
  const std::string text = traffic_graph("a<b", group_traffic(halves(4), cluster, bytes, 1));
  const ReadGraph graph(text);
  CHECK(graph.nodes() == 1);
  CHECK(graph.title() == "Traffic: a<b\\l");
  const std::string table = attribute(graph.node("traffic"), "label");
  CHECK(count(table, "<B>domain 0</B>") == 1);
  CHECK(count(table, "<B>domain 2</B>") == 2);  // it receives, and has bytes inside
  CHECK(count(table, "<B>domain 3</B>") == 0);
  // The 4 MB of domain 0: its cell, what it sends, and the legend's end.
  CHECK(count(table, "4.00 MB") == 3);
  CHECK(count(table, "5.00 MB") == 2);  // what domain 2 receives, what all send
  CHECK(count(table, "2.00 MB") == 2);  // inside domain 2, inside all
  // The largest cell's bar is whole; a quarter of 56 points is 14.
  CHECK(count(table, "WIDTH=\"56\" HEIGHT=\"5\" BGCOLOR") == 1);
  CHECK(count(table, "WIDTH=\"14\" HEIGHT=\"5\" BGCOLOR") == 1);
}

TEST_CASE("a table has at most 16 rows and 16 columns", "[report][graph]") {
  const Cluster cluster(two_gpu_nodes(34));
  std::vector<double> bytes(34 * 34, 0);
  for (std::size_t from = 0; from < 17; ++from)
    for (std::size_t to = 17; to < 34; ++to) bytes[from * 34 + to] = 1e6;
  CHECK_FALSE(fits_table(group_traffic(halves(34), cluster, bytes, 1)));
  const GroupTraffic drawn = finest_groups(halves(34), cluster, bytes, fits_table);
  CHECK(drawn.groups.size() == 18);  // 8 pairs and 1 on either side
}

TEST_CASE("a plan that stays in one domain says that nothing leaves it", "[report][graph]") {
  const Cluster cluster(two_gpu_nodes(2));
  const std::string text = traffic_graph("x", group_traffic(halves(2), cluster, {0, 0, 0, 0}, 1));
  CHECK(count(text, "Nothing leaves its NVLink domain.") == 1);
}

}  // namespace
}  // namespace refit
