// What `refit simulate` does for one strategy, in one process and without SimGrid's engine, so that
// its instructions can be counted: from a scenario file to when each op starts and ends.
#include <cstdio>
#include <cstdlib>
#include <string>

#include <fmt/format.h>

#include "base/error.h"
#include "scenarios/scenario.h"
#include "schedule/plan_hash.h"
#include "schedule/verify.h"
#include "sim/certificate.h"
#include "sim/detail/flow_run.h"
#include "sim/detail/quotient.h"
#include "sim/detail/slack_links.h"
#include "sim/detail/task_graph.h"
#include "sim/memory.h"
#include "sim/traffic.h"

namespace refit {
namespace {

Timeline timeline_of(const Schedule& schedule, const Scenario& scenario) {
  detail::TaskGraph graph =
      detail::make_task_graph(schedule, scenario.cluster, scenario.network_model);
  detail::leave_out_slack_links(graph);
  const auto quotient = detail::make_quotient(graph);
  detail::FlowRun run(quotient ? quotient->graph : graph);
  while (run.next_event_s()) run.advance();
  Timeline timeline = quotient ? detail::expand(*quotient, run.timeline()) : run.timeline();
  timeline.resize(graph.ops);
  return timeline;
}

int count_run(const std::string& file, const std::string& strategy) {
  const Scenario scenario = load_scenario(file);
  const Schedule schedule =
      plan(scenario.refit, scenario.cluster, named_policy(strategy), scenario.plan);
  if (!verify(schedule, scenario.refit).empty()) {
    fmt::print(stderr, "{}: the {} plan is not correct\n", file, strategy);
    return 1;
  }
  const Timeline timeline = timeline_of(schedule, scenario);
  const TrafficTotals traffic = traffic_totals(schedule, scenario.cluster);
  const MemoryUse memory = memory_use(schedule, scenario.refit, scenario.cluster, timeline);
  const RefitBound bound = bound_of_refit(schedule.parcels, scenario.cluster);
  const Certificate certificate = certify(schedule, scenario.cluster, bound, 0);
  fmt::print("{} {}: {} ops, {} bytes over the network, fullest rank {}, plan {}\n", scenario.name,
             strategy, schedule.ops.size(), traffic.network_bytes, memory.largest.value,
             certificate.plan);
  return 0;
}

}  // namespace
}  // namespace refit

int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "--build") {
    std::puts(REFIT_BUILD);
    return 0;
  }
  if (argc != 3) {
    fmt::print(stderr, "count_run: takes a scenario file and a strategy, or --build\n");
    return 2;
  }
  try {
    return refit::count_run(argv[1], argv[2]);
  } catch (const refit::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return static_cast<int>(error.code());
  }
}
