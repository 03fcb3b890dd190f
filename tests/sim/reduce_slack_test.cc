// Links that can never hold a flow back are left out, and no others.
#include <algorithm>
#include <vector>

#include <catch2/catch.hpp>

#include "sim/detail/slack_links.h"
#include "tests/sim/flow_graphs.h"

using namespace refit;
using namespace refit::test;

namespace {

// Eight senders with a NIC of 50 GB/s each, all over one trunk, to one receiver each.
struct Leaf {
  explicit Leaf(double trunk_bytes_per_s, double trunk_weight = 1) {
    trunk = graph.link(trunk_bytes_per_s);
    for (int i = 0; i < 8; ++i) {
      out.push_back(graph.link(50e9));
      in.push_back(graph.link(50e9));
      const std::vector<PathLink> links{{out.back(), 1}, {trunk, trunk_weight}, {in.back(), 1}};
      graph.task(graph.path(links), 1e9);
    }
  }

  FlowGraphWriter graph;
  LinkId trunk;
  std::vector<LinkId> out, in;
};

bool is_crossed(const detail::TaskGraph& graph, LinkId link) {
  for (const PathLink& crossed : graph.paths.links)
    if (crossed.link == link) return true;
  return false;
}

}  // namespace

TEST_CASE("slack: a trunk as wide as the NICs behind it is left out, and a narrower one stays",
          "[sim][reductions]") {
  // 8 x 50 GB/s = 400 GB/s. A receiver's NIC is fed by its sender's, so one of the two goes, too.
  const auto [trunk_bytes_per_s, stays] =
      GENERATE(table<double, bool>({{400e9, false}, {500e9, false}, {399e9, true}}));
  Leaf leaf(trunk_bytes_per_s);
  detail::TaskGraph graph = leaf.graph.finish();
  REQUIRE(std::ranges::count(detail::used_links(graph), true) == 17);
  REQUIRE(detail::leave_out_slack_links(graph) == (stays ? 8 : 9));
  REQUIRE(is_crossed(graph, leaf.trunk) == stays);
  for (int i = 0; i < 8; ++i) {
    const auto n = static_cast<std::size_t>(i);
    REQUIRE(is_crossed(graph, leaf.out[n]) != is_crossed(graph, leaf.in[n]));
  }
  REQUIRE(std::ranges::count(detail::used_links(graph), true) == (stays ? 9 : 8));
}

TEST_CASE("slack: what a byte of a flow weighs on a link counts", "[sim][reductions]") {
  // With weight 2 the NICs bring 8 x 2 x 50 GB/s = 800 GB/s.
  const auto [trunk_bytes_per_s, stays] =
      GENERATE(table<double, bool>({{800e9, false}, {799e9, true}}));
  Leaf leaf(trunk_bytes_per_s, 2);
  detail::TaskGraph graph = leaf.graph.finish();
  detail::leave_out_slack_links(graph);
  REQUIRE(is_crossed(graph, leaf.trunk) == stays);
}

TEST_CASE("slack: a link that some flow enters without a feeder stays", "[sim][reductions]") {
  Leaf leaf(400e9);
  const std::vector<PathLink> direct{{leaf.trunk, 1}};
  leaf.graph.task(leaf.graph.path(direct), 1e9);
  detail::TaskGraph graph = leaf.graph.finish();
  detail::leave_out_slack_links(graph);
  REQUIRE(is_crossed(graph, leaf.trunk));
}

TEST_CASE("slack: a link that changes on the way stays, and a feeder counts with its most",
          "[sim][reductions]") {
  Leaf leaf(400e9);
  SECTION("the trunk gets narrower") {
    leaf.graph.change(1e-3, leaf.trunk, 100e9);
    detail::TaskGraph graph = leaf.graph.finish();
    detail::leave_out_slack_links(graph);
    REQUIRE(is_crossed(graph, leaf.trunk));
  }
  SECTION("both NICs of one flow get wider") {  // 7 x 50 + 100 GB/s
    leaf.graph.change(1e-3, leaf.out[3], 100e9);
    leaf.graph.change(1e-3, leaf.in[3], 100e9);
    detail::TaskGraph graph = leaf.graph.finish();
    detail::leave_out_slack_links(graph);
    REQUIRE(is_crossed(graph, leaf.trunk));
    REQUIRE(is_crossed(graph, leaf.out[3]));
    REQUIRE(is_crossed(graph, leaf.in[3]));
  }
  SECTION("a NIC gets slower") {  // never more than at first
    leaf.graph.change(1e-3, leaf.out[3], 10e9);
    detail::TaskGraph graph = leaf.graph.finish();
    detail::leave_out_slack_links(graph);
    REQUIRE_FALSE(is_crossed(graph, leaf.trunk));
    REQUIRE(is_crossed(graph, leaf.out[3]));
  }
}

TEST_CASE("slack: receivers feed a trunk where senders are too many", "[sim][reductions]") {
  // 100 senders to each of 8 receivers: the senders could bring 32 TB/s, the receivers take 400
  // GB/s. No sender is slack: it is slower than what its receiver takes.
  FlowGraphWriter writer;
  const LinkId trunk = writer.link(400e9);
  for (int i = 0; i < 8; ++i) {
    const LinkId in = writer.link(50e9);
    for (int j = 0; j < 100; ++j) {
      const std::vector<PathLink> links{{writer.link(40e9), 1}, {trunk, 1}, {in, 1}};
      writer.task(writer.path(links), 1e9);
    }
  }
  detail::TaskGraph graph = writer.finish();
  REQUIRE(detail::leave_out_slack_links(graph) == 1);
  REQUIRE_FALSE(is_crossed(graph, trunk));
}

TEST_CASE("slack: a ring's wide links wait for its narrowest", "[sim][reductions]") {
  // One collective over 20 NVLinks of 450 GB/s and 4 NICs of 50 GB/s, one of which is at 40 GB/s:
  // that one decides the rate, and all others are fed by it.
  FlowGraphWriter writer;
  std::vector<PathLink> links;
  for (int i = 0; i < 20; ++i) links.push_back({writer.link(450e9), 1});
  for (int i = 0; i < 4; ++i) links.push_back({writer.link(i == 2 ? 40e9 : 50e9), 1});
  writer.task(writer.path(links), 1e9);
  detail::TaskGraph graph = writer.finish();
  REQUIRE(detail::leave_out_slack_links(graph) == 23);
  REQUIRE(is_crossed(graph, links[22].link));
}
