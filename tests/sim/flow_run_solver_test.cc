// What a run of a task graph promises beyond rates: links that change on the way, and seats that
// are taken over.
#include <cmath>
#include <limits>

#include <catch2/catch.hpp>

#include "sim/detail/child.h"
#include "sim/detail/flow_run.h"
#include "sim/detail/solver.h"
#include "tests/sim/flow_graphs.h"

using namespace refit;
using namespace refit::test;
using detail::TaskGraph;

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

using Run = Timeline (*)(const TaskGraph&);
Timeline incremental(const TaskGraph& graph) { return detail::run_incremental(graph); }

Timeline in_child(const TaskGraph& graph, Run run) {
  const std::vector<double> numbers = detail::run_in_child(2 * graph.tasks(), [&] {
    std::vector<double> flat;
    for (const Span& span : run(graph)) flat.insert(flat.end(), {span.start_s, span.end_s});
    return flat;
  });
  Timeline timeline;
  for (std::size_t i = 0; i < graph.tasks(); ++i)
    timeline.push_back({numbers[2 * i], numbers[2 * i + 1]});
  return timeline;
}

struct Finished {
  Timeline timeline;
  std::size_t merged = 0;
};

Finished finish(const TaskGraph& graph, bool merge) {
  detail::FlowRun run(graph, merge);
  while (run.next_event_s()) run.advance();
  return {run.timeline(), run.merged()};
}

bool near(double a, double b, double within) { return a == b || std::abs(a - b) <= within; }

}  // namespace

TEST_CASE("links that change: flows slow down, stand still, go on and speed up", "[sim][solver]") {
  // 100 GB over a link of 50 GB/s (2 s). Both solvers.
  FlowGraphWriter graph;
  const LinkId link = graph.link(50e9);
  const PathId path = graph.path(std::vector<PathLink>{{link, 1}});
  const auto run = GENERATE(Run{detail::run_native}, Run{incremental});
  graph.task(path, 100e9);
  SECTION("slower: 50 GB in 1 s, the other 50 GB at 25 GB/s in 2 s") {
    graph.change(1, link, 25e9);
    REQUIRE(in_child(graph.finish(), run)[0].end_s == Approx(3).epsilon(1e-9));
  }
  SECTION("faster: 50 GB in 1 s, the other 50 GB at 100 GB/s in 0.5 s") {
    graph.change(1, link, 100e9);
    REQUIRE(in_child(graph.finish(), run)[0].end_s == Approx(1.5).epsilon(1e-9));
  }
  SECTION("failed twice, for 3 s and for 1 s: 2 s and 4 s") {
    graph.change(1, link, 0);
    graph.change(4, link, 50e9);
    graph.change(4.5, link, 0);
    graph.change(5.5, link, 50e9);
    REQUIRE(in_child(graph.finish(), run)[0].end_s == Approx(6).epsilon(1e-9));
  }
  SECTION("failed from the start, back after 1 s at 200 GB/s: 1 s and 0.5 s") {
    graph.change(0, link, 0);
    graph.change(1, link, 200e9);
    const Timeline t = in_child(graph.finish(), run);
    REQUIRE(t[0].start_s == 0);
    REQUIRE(t[0].end_s == Approx(1.5).epsilon(1e-9));
  }
  SECTION("failed for good: it never ends, and what waits for it never starts") {
    graph.change(1, link, 0);
    graph.task(path, 1e9, 0, 0);
    const LinkId other = graph.link(50e9);
    graph.task(graph.path(std::vector<PathLink>{{other, 1}}), 150e9);
    const Timeline t = in_child(graph.finish(), run);
    REQUIRE(t[0] == Span{0, kNever});
    REQUIRE(t[1] == Span{kNever, kNever});
    REQUIRE(t[2].end_s == Approx(3).epsilon(1e-9));  // on its own link
  }
  SECTION("failed at the instant of its end: it has ended") {
    graph.change(2, link, 0);
    REQUIRE(in_child(graph.finish(), run)[0].end_s == Approx(2).epsilon(1e-9));
  }
  SECTION("who shares another link with a stopped flow has all of that link") {
    // A second flow over the same link and one more of 50 GB/s that a third, of 75 GB, shares: 25
    // GB/s each for 1 s; then the first link fails, and 50 GB of the third are left for it alone.
    const LinkId shared = graph.link(50e9);
    graph.task(graph.path(std::vector<PathLink>{{link, 1}, {shared, 1}}), 100e9);
    graph.task(graph.path(std::vector<PathLink>{{shared, 1}}), 75e9);
    graph.change(1, link, 0);
    const Timeline t = in_child(graph.finish(), run);
    REQUIRE(t[1].end_s == kNever);
    REQUIRE(t[2].end_s == Approx(2).epsilon(1e-9));
  }
  SECTION("a delay runs on while the link is down") {
    graph.task(path, 50e9, 2);  // starts to move at 2 s, beside the first
    graph.change(0, link, 0);
    graph.change(3, link, 50e9);
    // From 3 s on both at 25 GB/s: 50 GB each until 5 s, then 50 GB of the first in 1 s.
    const Timeline t = in_child(graph.finish(), run);
    REQUIRE(t[1].end_s == Approx(5).epsilon(1e-9));
    REQUIRE(t[0].end_s == Approx(6).epsilon(1e-9));
  }
}

TEST_CASE("taking over: transfers in a row on one path keep their rate, and nobody else's changes",
          "[sim][solver]") {
  // Three of 50 GB in a row share a link of 50 GB/s with one of 150 GB: 2 s each, and 6 s.
  FlowGraphWriter graph;
  const PathId path = graph.path(std::vector<PathLink>{{graph.link(50e9), 1}});
  graph.task(path, 50e9);
  graph.task(path, 50e9, 0, 0);
  graph.task(path, 50e9, 0, 1);
  graph.task(path, 150e9);
  const TaskGraph g = graph.finish();
  const Finished on = finish(g, true), off = finish(g, false);
  REQUIRE(on.merged == 2);
  REQUIRE(off.merged == 0);
  const Timeline expected{{0, 2}, {2, 4}, {4, 6}, {0, 6}};
  REQUIRE(on.timeline == expected);
  REQUIRE(off.timeline == expected);
}

TEST_CASE("taking over: each seat has one heir, and as many are handed on as end",
          "[sim][solver]") {
  FlowGraphWriter graph;
  const PathId path = graph.path(std::vector<PathLink>{{graph.link(50e9), 1}});
  const auto merge = GENERATE(true, false);
  graph.task(path, 50e9);        // 0 s .. 1 s
  graph.task(path, 50e9, 0, 0);  // both from 1 s on at 25 GB/s, to 3 s
  graph.task(path, 50e9, 0, 0);
  graph.task(path, 25e9, 0, 1);  // both from 3 s on, to 4 s
  graph.task(path, 25e9, 0, 2);
  const Finished run = finish(graph.finish(), merge);
  REQUIRE(run.timeline == Timeline{{0, 1}, {1, 3}, {1, 3}, {3, 4}, {3, 4}});
  REQUIRE(run.merged == (merge ? 3 : 0));  // one of the first pair, both of the second
}

TEST_CASE("taking over: only without delay, and on the same path", "[sim][solver]") {
  FlowGraphWriter graph;
  const LinkId link = graph.link(50e9);
  const PathId path = graph.path(std::vector<PathLink>{{link, 1}});
  const PathId other = graph.path(std::vector<PathLink>{{link, 1}, {graph.link(25e9), 1}});
  graph.task(path, 50e9);
  graph.task(path, 50e9, 0.5, 0);  // a pause of 0.5 s: from 1.5 s to 2.5 s
  graph.task(other, 50e9, 0, 1);   // at 25 GB/s: to 4.5 s
  const Finished run = finish(graph.finish(), true);
  REQUIRE(run.merged == 0);
  REQUIRE(run.timeline[1].end_s == Approx(2.5).epsilon(1e-12));
  REQUIRE(run.timeline[2].end_s == Approx(4.5).epsilon(1e-12));
}

// Run with --rng-seed N for other cases.
TEST_CASE("taking over: on or off, every task starts and ends when it did", "[sim][solver]") {
  const auto traffic = GENERATE(Traffic::burst, Traffic::chains, Traffic::m2n);
  const auto wires =
      GENERATE(Wires::non_blocking, Wires::clos, Wires::oversubscribed, Wires::uneven);
  std::size_t merged = 0;
  for (std::uint32_t i = 0; i < 20; ++i) {
    const std::uint32_t seed = Catch::rngSeed() + i;
    CAPTURE(seed, static_cast<int>(traffic), static_cast<int>(wires));
    const Hardships hard{i % 4 == 0, i % 4 == 1, i % 4 == 2, i % 5 == 0, i % 5 == 1};
    const TaskGraph graph = random_flow_graph(seed, traffic, wires, hard);
    const Finished on = finish(graph, true), off = finish(graph, false);
    merged += on.merged;
    REQUIRE(off.merged == 0);
    double last_s = 0;
    for (const Span& span : off.timeline)
      if (span.end_s < kNever) last_s = std::max(last_s, span.end_s);
    for (std::size_t t = 0; t < graph.tasks(); ++t) {
      CAPTURE(t);
      REQUIRE(near(on.timeline[t].start_s, off.timeline[t].start_s, 1e-12 * last_s));
      REQUIRE(near(on.timeline[t].end_s, off.timeline[t].end_s, 1e-12 * last_s));
    }
  }
  if (traffic == Traffic::chains) REQUIRE(merged > 0);
}
