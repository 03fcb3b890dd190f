// Tasks and links that behave alike are simulated once, and nothing that differs is taken for
// alike.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include <catch2/catch.hpp>

#include "sim/detail/quotient.h"
#include "sim/detail/simulate.h"
#include "tests/sim/flow_graphs.h"

using namespace refit;
using namespace refit::test;
using detail::TaskId;

namespace {

Timeline times(const detail::TaskGraph& graph, const Reductions& reductions) {
  return detail::simulate(graph, {wire_only(), Solver::incremental, reductions}).timeline;
}

// By the quotient, however small the graph is.
Timeline times_by_quotient(const detail::TaskGraph& graph) {
  const std::optional<detail::Quotient> quotient = detail::make_quotient(graph);
  REQUIRE(quotient);
  return detail::expand(*quotient, times(quotient->graph, kNoReductions));
}

// The largest difference of any start or end, of the last end.
double difference(const Timeline& a, const Timeline& b) {
  REQUIRE(a.size() == b.size());
  double largest = 0, last_s = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].start_s != b[i].start_s)
      largest = std::max(largest, std::abs(a[i].start_s - b[i].start_s));
    if (a[i].end_s != b[i].end_s) largest = std::max(largest, std::abs(a[i].end_s - b[i].end_s));
    if (std::isfinite(a[i].end_s)) last_s = std::max(last_s, a[i].end_s);
  }
  return largest / last_s;
}

// 16 groups of 24 flows; each group over a link of its own, all over one core.
struct Groups {
  explicit Groups(double core_bytes_per_s, double bytes = 1e9) {
    core = graph.link(core_bytes_per_s);
    for (int g = 0; g < 16; ++g) {
      own.push_back(graph.link(50e9));
      const std::vector<PathLink> links{{own.back(), 1}, {core, 1}};
      for (int f = 0; f < 24; ++f) flows.push_back(graph.task(graph.path(links), bytes));
    }
  }

  FlowGraphWriter graph;
  LinkId core;
  std::vector<LinkId> own;
  std::vector<TaskId> flows;
};

// Flow i crosses links i and i + 1 of a ring.
std::vector<TaskId> ring(FlowGraphWriter& graph, const std::vector<double>& capacities) {
  std::vector<LinkId> links;
  for (const double capacity : capacities) links.push_back(graph.link(capacity));
  std::vector<TaskId> flows;
  for (std::size_t i = 0; i < links.size(); ++i) {
    const std::vector<PathLink> path{{links[i], 1}, {links[(i + 1) % links.size()], 1}};
    flows.push_back(graph.task(graph.path(path), 1e9));
  }
  return flows;
}

}  // namespace

TEST_CASE("quotient: one flow stands for 16 groups of 24 through a shared core",
          "[sim][reductions]") {
  // Core of 600 GB/s: 384 flows share it, 1.5625 GB/s each, 1 GB takes 0.64 s. Core of 1200 GB/s:
  // each group's 50 GB/s holds back first, 24 GB take 0.48 s.
  const auto [core, seconds] = GENERATE(table<double, double>({{600e9, 0.64}, {1200e9, 0.48}}));
  Groups groups(core);
  const detail::TaskGraph graph = groups.graph.finish();
  const std::optional<detail::Quotient> quotient = detail::make_quotient(graph);
  REQUIRE(quotient);
  REQUIRE(quotient->graph.tasks() == 1);
  REQUIRE(quotient->links == 2);
  // Weights of 24 and 384 become 1; capacities are divided instead.
  for (const PathLink& crossed : quotient->graph.paths.links) REQUIRE(crossed.weight == 1);
  for (const Span& span : times_by_quotient(graph)) {
    REQUIRE(span.start_s == 0);
    REQUIRE(span.end_s == Approx(seconds).epsilon(1e-12));
  }
  REQUIRE(difference(times(graph, kNoReductions), times_by_quotient(graph)) < 1e-12);
}

TEST_CASE("quotient: what comes after tasks does not tell them apart", "[sim][reductions]") {
  // Each group's flows are followed by one more; group 0's is larger. 384 flows of the first kind
  // are alike all the same.
  Groups groups(600e9);
  for (std::size_t f = 0; f < groups.flows.size(); ++f) {
    const std::vector<PathLink> links{{groups.own[f / 24], 1}, {groups.core, 1}};
    groups.graph.task(groups.graph.path(links), f / 24 == 0 ? 2e9 : 1e9, 0, groups.flows[f]);
  }
  // The core and the links of the groups see different flows now: group 0's link is on its own, and
  // so are its flows from the start.
  const detail::TaskGraph graph = groups.graph.finish();
  const std::optional<detail::Quotient> quotient = detail::make_quotient(graph);
  REQUIRE(quotient);
  REQUIRE(quotient->graph.tasks() == 4);
  REQUIRE(quotient->links == 3);
  REQUIRE(difference(times(graph, kNoReductions), times_by_quotient(graph)) < 1e-12);

  // With the followers on links that nobody else uses, nothing before them differs.
  Groups apart(600e9);
  for (std::size_t f = 0; f < apart.flows.size(); ++f) {
    const std::vector<PathLink> links{{apart.graph.link(50e9), 1}};
    apart.graph.task(apart.graph.path(links), f / 24 == 0 ? 2e9 : 1e9, 0, apart.flows[f]);
  }
  const detail::TaskGraph second = apart.graph.finish();
  const std::optional<detail::Quotient> classes = detail::make_quotient(second);
  REQUIRE(classes);
  REQUIRE(classes->graph.tasks() == 3);  // the flows, large followers, small followers
  REQUIRE(difference(times(second, kNoReductions), times_by_quotient(second)) < 1e-12);
}

TEST_CASE("quotient: nothing is alike in a graph without symmetry", "[sim][reductions]") {
  std::mt19937 random(5);
  FlowGraphWriter writer;
  std::vector<LinkId> links;
  for (int i = 0; i < 40; ++i) links.push_back(writer.link(50e9));
  for (int i = 0; i < 400; ++i) {
    const std::vector<PathLink> path{{links[random() % 20], 1}, {links[20 + random() % 20], 1}};
    writer.task(writer.path(path), 1e9 + i);
  }
  const detail::TaskGraph graph = writer.finish();
  REQUIRE_FALSE(detail::make_quotient(graph));
  const detail::Simulated simulated =
      detail::simulate(graph, {wire_only(), Solver::incremental, {false, false, true}});
  REQUIRE(simulated.reductions.simulated_tasks == 400);
  REQUIRE(simulated.reductions.simulated_links == 40);
}

TEST_CASE("quotient: rings that look alike from nearby are told apart by one slow link",
          "[sim][reductions]") {
  // Two rings of three look like one of six to each flow and each link of them, and behave like it,
  // too: 1 GB at 25 GB/s. A slow link in a ring of three makes that ring another, link by link: its
  // own flows get 10 GB/s, and the third has what they leave, 40 GB/s.
  FlowGraphWriter writer;
  std::vector<TaskId> slow, third, others;
  for (int copy = 0; copy < 8; ++copy) {
    const std::vector<TaskId> lame =
        ring(writer, {20e9, 50e9, 50e9});  // 0: links 0, 1; 2: links 2, 0
    slow.insert(slow.end(), {lame[0], lame[2]});
    third.push_back(lame[1]);
    for (const TaskId flow : ring(writer, {50e9, 50e9, 50e9})) others.push_back(flow);
    for (const TaskId flow : ring(writer, std::vector<double>(6, 50e9))) others.push_back(flow);
  }
  const detail::TaskGraph graph = writer.finish();
  const std::optional<detail::Quotient> quotient = detail::make_quotient(graph);
  REQUIRE(quotient);
  REQUIRE(quotient->graph.tasks() == 3);
  REQUIRE(quotient->links == 3);
  const Timeline timeline = times_by_quotient(graph);
  for (const TaskId flow : slow) REQUIRE(timeline[flow].end_s == Approx(0.1).epsilon(1e-12));
  for (const TaskId flow : third) REQUIRE(timeline[flow].end_s == Approx(0.025).epsilon(1e-12));
  for (const TaskId flow : others) REQUIRE(timeline[flow].end_s == Approx(0.04).epsilon(1e-12));
  REQUIRE(difference(times(graph, kNoReductions), timeline) < 1e-12);
}

TEST_CASE("quotient: long chains of links carry a difference from one end to the other",
          "[sim][reductions]") {
  // Flow i crosses links i and i + 1; a slow link at one end of a line, copied 40 times. In each
  // copy all 6 flows and 7 links differ.
  FlowGraphWriter writer;
  for (int copy = 0; copy < 40; ++copy) {
    LinkId before = writer.link(20e9);
    for (int i = 0; i < 6; ++i) {
      const LinkId next = writer.link(50e9);
      const std::vector<PathLink> path{{before, 1}, {next, 1}};
      writer.task(writer.path(path), 1e9);
      before = next;
    }
  }
  const detail::TaskGraph graph = writer.finish();
  const std::optional<detail::Quotient> quotient = detail::make_quotient(graph);
  REQUIRE(quotient);
  REQUIRE(quotient->graph.tasks() == 6);
  REQUIRE(quotient->links == 7);
  REQUIRE(difference(times(graph, kNoReductions), times_by_quotient(graph)) < 1e-12);
}

TEST_CASE("quotient: links that change alike are alike, others are not", "[sim][reductions]") {
  Groups groups(1200e9);
  groups.graph.change(0.1, groups.own[3], 25e9);
  groups.graph.change(0.1, groups.own[5], 25e9);
  groups.graph.change(0.2, groups.own[9], 25e9);
  groups.graph.change(0.3, groups.own[11], 0);  // fails for good
  const detail::TaskGraph graph = groups.graph.finish();
  const std::optional<detail::Quotient> quotient = detail::make_quotient(graph);
  REQUIRE(quotient);
  REQUIRE(quotient->links == 1 + 4);  // the core; 3 and 5, 9, 11, the rest
  REQUIRE(quotient->graph.tasks() == 4);
  REQUIRE(quotient->graph.changes.size() == 3);
  const Timeline timeline = times_by_quotient(graph);
  REQUIRE(difference(times(graph, kNoReductions), timeline) < 1e-12);
  // Group 3: 5 GB until 0.1 s, 19 GB at 25 GB/s. Group 9: 10 GB until 0.2 s, 14 GB at 25 GB/s.
  REQUIRE(timeline[groups.flows[3 * 24]].end_s == Approx(0.1 + 0.76).epsilon(1e-12));
  REQUIRE(timeline[groups.flows[5 * 24]].end_s == Approx(0.1 + 0.76).epsilon(1e-12));
  REQUIRE(timeline[groups.flows[9 * 24]].end_s == Approx(0.2 + 0.56).epsilon(1e-12));
  REQUIRE(timeline[groups.flows[11 * 24]].end_s == std::numeric_limits<double>::infinity());
  REQUIRE(timeline[groups.flows[0]].end_s == Approx(0.48).epsilon(1e-12));
}

TEST_CASE("quotient: a wrong partition is seen without any hash", "[sim][reductions]") {
  // 8 rings of three, one of them with a slow link and one flow of which has a delay before it.
  FlowGraphWriter writer;
  std::vector<TaskId> flows;
  for (int copy = 0; copy < 16; ++copy) {
    for (const TaskId flow : ring(writer, {copy == 0 ? 20e9 : 50e9, 50e9, 50e9}))
      flows.push_back(flow);
  }
  const std::vector<PathLink> elsewhere{{writer.link(50e9), 1}};
  const TaskId first = writer.task(writer.path(elsewhere), 1e9, 0, flows[0]);
  const TaskId second = writer.task(writer.path(elsewhere), 1e9, 0, flows[1]);
  const TaskId later = writer.task(0, 0, 1e-3, first);
  const TaskId latest = writer.task(0, 0, 2e-3, first);
  const detail::TaskGraph graph = writer.finish();
  const detail::GraphIndex index = detail::make_graph_index(graph);
  const std::optional<detail::Classes> found = detail::find_classes(graph, index);
  REQUIRE(found);
  REQUIRE(detail::equitable(graph, index, *found));

  detail::Classes wrong = *found;
  const auto join_tasks = [&](TaskId a, TaskId b) {
    REQUIRE(wrong.of_task[a] != wrong.of_task[b]);
    wrong.of_task[b] = wrong.of_task[a];
  };
  SECTION("a flow of the slow ring with those of others") { join_tasks(flows[3], flows[1]); }
  SECTION("tasks behind different tasks") { join_tasks(first, second); }
  SECTION("tasks with different delays") { join_tasks(later, latest); }
  SECTION("a flow and a task without bytes") { join_tasks(first, later); }
  SECTION("a slow link with others") {
    const std::size_t slow = graph.paths.of(graph.path[flows[0]])[0].link.index();
    const std::size_t other = graph.paths.of(graph.path[flows[3]])[0].link.index();
    REQUIRE(wrong.of_link[slow] != wrong.of_link[other]);
    wrong.of_link[slow] = wrong.of_link[other];
  }
  SECTION("a link of the slow ring with those of others") {
    const std::size_t near = graph.paths.of(graph.path[flows[0]])[1].link.index();
    const std::size_t other = graph.paths.of(graph.path[flows[3]])[0].link.index();
    REQUIRE(wrong.of_link[near] != wrong.of_link[other]);
    wrong.of_link[near] = wrong.of_link[other];
  }
  SECTION("paths over different links") {
    wrong.of_path[graph.path[flows[0]]] = wrong.of_path[graph.path[flows[3]]];
  }
  REQUIRE_FALSE(detail::equitable(graph, index, wrong));
}

// Run with --rng-seed N for other cases.
TEST_CASE("quotient: copies of a random graph end as one of them does", "[sim][reductions]") {
  for (std::uint32_t i = 0; i < 40; ++i) {
    const std::uint32_t seed = Catch::rngSeed() + i;
    CAPTURE(seed);
    // 12 copies on links of their own, all over one core that is now and then too narrow.
    std::mt19937 random(seed);
    FlowGraphWriter writer;
    const LinkId core = writer.link(seed % 2 == 0 ? 400e9 : 4000e9);
    const std::mt19937 from_here = random;
    for (int copy = 0; copy < 12; ++copy) {
      random = from_here;
      std::vector<LinkId> links;
      for (int l = 0; l < 6; ++l) links.push_back(writer.link(l < 3 ? 50e9 : 100e9));
      std::vector<TaskId> tasks;
      for (int f = 0; f < 30; ++f) {
        std::vector<PathLink> path{{links[random() % 3], 1},
                                   {links[3 + random() % 3], random() % 4 == 0 ? 0.75 : 1.0}};
        if (random() % 2 == 0) path.push_back({core, 1});
        const double bytes = 1e6 * static_cast<double>(1 + random() % 100);
        const double delay_s = random() % 3 == 0 ? 1e-5 : 0;
        std::vector<TaskId> after;
        if (!tasks.empty() && random() % 2 == 0) after.push_back(tasks[random() % tasks.size()]);
        tasks.push_back(writer.task(writer.path(path), bytes, delay_s, after));
      }
    }
    const detail::TaskGraph graph = writer.finish();
    const std::optional<detail::Quotient> quotient = detail::make_quotient(graph);
    REQUIRE(quotient);
    REQUIRE(quotient->graph.tasks() <= 30);
    REQUIRE(quotient->links <= 7);
    REQUIRE(difference(times(graph, kNoReductions), times_by_quotient(graph)) < 1e-9);
  }
}
