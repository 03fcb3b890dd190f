// The two solvers, and the reductions before them, on task graphs of every kind.
#include <cmath>
#include <limits>
#include <set>

#include <catch2/catch.hpp>

#include "sim/detail/simulate.h"
#include "tests/sim/flow_graphs.h"

using namespace refit;
using namespace refit::test;

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

Timeline times(const detail::TaskGraph& graph, Solver solver, const Reductions& reductions) {
  return detail::simulate(graph, {wire_only(), solver, reductions}).timeline;
}

double last_end_s(const Timeline& timeline) {
  double last_s = 0;
  for (const Span& span : timeline)
    if (span.end_s < kNever) last_s = std::max(last_s, span.end_s);
  return last_s;
}

// The largest difference of any start or end, of the last end; infinite if one never came and the
// other did.
double difference(const Timeline& a, const Timeline& b) {
  REQUIRE(a.size() == b.size());
  double largest = 0;
  const auto compare = [&](double x, double y) {
    if (x != y) largest = std::max(largest, std::abs(x - y));
  };
  for (std::size_t i = 0; i < a.size(); ++i) {
    compare(a[i].start_s, b[i].start_s);
    compare(a[i].end_s, b[i].end_s);
  }
  return largest / last_end_s(a);
}

struct Case {
  std::uint32_t seed = 0;
  Traffic traffic = Traffic::burst;
  Wires wires = Wires::non_blocking;
  Hardships hard;

  detail::TaskGraph graph() const { return random_flow_graph(seed, traffic, wires, hard); }
};

// All kinds of traffic on all kinds of wires, each with none, each one and all of the hardships.
std::vector<Case> cases() {
  std::vector<Hardships> hardships(7);
  hardships[1].weights = true;
  hardships[2].caps = true;
  hardships[3].delays = true;
  hardships[4].failures = true;
  hardships[5].rate_changes = true;
  hardships[6] = {true, true, true, true, true};
  std::vector<Case> all;
  for (const Traffic traffic : {Traffic::burst, Traffic::chains, Traffic::m2n})
    for (const Wires wires :
         {Wires::non_blocking, Wires::clos, Wires::oversubscribed, Wires::uneven})
      for (const Hardships& hard : hardships)
        for (int i = 0; i < 4; ++i)
          all.push_back(
              {Catch::rngSeed() + static_cast<std::uint32_t>(all.size()), traffic, wires, hard});
  return all;
}

}  // namespace

// Run with --rng-seed N for other cases.
TEST_CASE("solvers: SimGrid's max-min and ours agree on every kind of traffic, wires and hardship",
          "[sim][solver]") {
  double worst = 0;
  std::size_t stuck = 0;
  const std::vector<Case> all = cases();
  REQUIRE(all.size() == 336);
  for (const Case& c : all) {
    CAPTURE(c.seed, static_cast<int>(c.traffic), static_cast<int>(c.wires), c.hard.weights,
            c.hard.caps, c.hard.delays, c.hard.failures, c.hard.rate_changes);
    const detail::TaskGraph graph = c.graph();
    const Timeline native = times(graph, Solver::native, kNoReductions);
    const Timeline ours = times(graph, Solver::incremental, kNoReductions);
    const double apart = difference(native, ours);
    REQUIRE(apart < 1e-9);
    worst = std::max(worst, apart);
    for (const Span& span : ours) stuck += span.end_s == kNever ? 1 : 0;
  }
  CHECK(worst > 0);  // two solvers, not one twice
  CHECK(stuck > 0);  // links that fail for good stop somebody
  WARN("largest difference of " << all.size() << " cases: " << worst << " of the whole time, "
                                << stuck << " tasks stopped for good, first seed "
                                << all.front().seed);
}

TEST_CASE("reductions: merge, slack links and the quotient change no start and no end",
          "[sim][reductions]") {
  for (const Case& c : cases()) {
    CAPTURE(c.seed, static_cast<int>(c.traffic), static_cast<int>(c.wires), c.hard.weights,
            c.hard.caps, c.hard.delays, c.hard.failures, c.hard.rate_changes);
    const detail::TaskGraph graph = c.graph();
    const Timeline full = times(graph, Solver::incremental, kNoReductions);
    CHECK(difference(full, times(graph, Solver::incremental, {true, false, false})) < 1e-9);
    CHECK(difference(full, times(graph, Solver::incremental, {false, true, false})) < 1e-9);
    CHECK(difference(full, times(graph, Solver::incremental, {false, false, true})) < 1e-9);
    CHECK(difference(full, times(graph, Solver::incremental, {})) < 1e-9);
  }
}
