// Every published plan ends when it would without reductions, op by op.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "scenarios/scenario.h"
#include "sim/detail/simulate.h"

using namespace refit;

namespace {

Timeline times(const detail::TaskGraph& graph, const Reductions& reductions) {
  return detail::simulate(graph, {wire_only(), Solver::incremental, reductions}).timeline;
}

// The largest difference of any start or end, of the last end.
double difference(const Timeline& a, const Timeline& b) {
  REQUIRE(a.size() == b.size());
  double largest = 0, last_s = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    largest = std::max(
        {largest, std::abs(a[i].start_s - b[i].start_s), std::abs(a[i].end_s - b[i].end_s)});
    last_s = std::max(last_s, a[i].end_s);
  }
  return largest / last_s;
}

Scenario published(const std::string& name) {
  return load_scenario(std::string(REFIT_SOURCE_DIR) + "/scenarios/published/" + name + ".yaml");
}

}  // namespace

TEST_CASE("reductions: every published plan starts and ends each op as without them",
          "[sim][reductions]") {
  const std::string name =
      GENERATE("qwen3_235b_h100", "deepseek_v3_h100", "deepseek_v3_gb200", "nemotron_ultra_gb200",
               "qwen3_8_2_4t", "m2n_qwen3_235b_gb200", "m2n_deepseek_v3_gb200");
  const Scenario scenario = published(name);
  for (const char* strategy : {"gather_broadcast", "direct", "reshard", "hybrid"}) {
    CAPTURE(name, strategy);
    const Schedule schedule =
        plan(scenario.refit, scenario.cluster, named_policy(strategy), scenario.plan);
    const detail::TaskGraph wire = detail::make_task_graph(schedule, scenario.cluster, wire_only());
    const Timeline full = times(wire, kNoReductions);
    CHECK(difference(full, times(wire, {true, false, false})) < 1e-9);
    CHECK(difference(full, times(wire, {false, true, false})) < 1e-9);
    CHECK(difference(full, times(wire, {false, false, true})) < 1e-9);
    CHECK(difference(full, times(wire, {})) < 1e-9);
    const detail::TaskGraph priced =
        detail::make_task_graph(schedule, scenario.cluster, scenario.network_model);
    CHECK(difference(times(priced, kNoReductions), times(priced, {})) < 1e-9);
  }
}

TEST_CASE("reductions: the largest published plans end as without them", "[sim][reductions]") {
  const Scenario scenario = published("kimi_k3");
  for (const char* strategy : {"gather_broadcast", "direct"}) {
    CAPTURE(strategy);
    const Schedule schedule =
        plan(scenario.refit, scenario.cluster, named_policy(strategy), scenario.plan);
    const detail::TaskGraph graph =
        detail::make_task_graph(schedule, scenario.cluster, scenario.network_model);
    CHECK(difference(times(graph, kNoReductions), times(graph, {})) < 1e-9);
  }
}
