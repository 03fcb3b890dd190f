// What each reduction before a simulation leaves out of the published plans, and the time it saves.
#include <sys/resource.h>

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bench/measured_child.h"
#include "scenarios/scenario.h"
#include "sim/detail/simulate.h"

namespace refit::bench {
namespace {

double cpu_s() {
  double sum_s = 0;
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage used{};
    getrusage(who, &used);
    for (const timeval& time : {used.ru_utime, used.ru_stime}) {
      sum_s += static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
    }
  }
  return sum_s;
}

// The least of a few tries, since all other work on the machine only adds.
std::pair<double, detail::Simulated> timed(const detail::TaskGraph& graph, Solver solver,
                                           const Reductions& reductions, int tries) {
  double least_s = 1e99;
  detail::Simulated result;
  for (int i = 0; i < tries; ++i) {
    detail::TaskGraph copy = graph;
    const double before_s = cpu_s();
    result = detail::simulate(std::move(copy), {wire_only(), solver, reductions});
    least_s = std::min(least_s, cpu_s() - before_s);
  }
  return {least_s, std::move(result)};
}

std::string one(const std::string& file, const char* strategy) {
  const Scenario s =
      load_scenario(std::string(REFIT_SOURCE_DIR) + "/scenarios/published/" + file + ".yaml");
  const Schedule schedule = plan(s.refit, s.cluster, named_policy(strategy), s.plan);
  const double before_s = cpu_s();
  const detail::TaskGraph graph = detail::make_task_graph(schedule, s.cluster, s.network_model);
  const double graph_s = cpu_s() - before_s;
  const int tries = graph.tasks() > 500'000 ? 1 : 3;
  const auto seconds = [&](const Reductions& reductions) {
    return timed(graph, Solver::incremental, reductions, tries).first;
  };
  const double none_s = seconds(kNoReductions);
  const double merge_s = seconds({true, false, false});
  const double slack_s = seconds({false, true, false});
  const double quotient_s = seconds({false, false, true});
  const auto [all_s, all] = timed(graph, Solver::incremental, {}, tries);
  const ReductionReport& report = all.reductions;
  return fmt::format(
      "{:8} {:6} {:6} {:8} {:6} {:8} {:7.3f} {:7.3f} {:7.3f} {:7.3f} {:7.3f} {:7.3f}", report.tasks,
      report.links, report.slack_links, report.simulated_tasks, report.simulated_links,
      report.merged, graph_s, none_s, merge_s, slack_s, quotient_s, all_s);
}

}  // namespace
}  // namespace refit::bench

int main(int argc, char** argv) {
  using namespace refit::bench;
  const std::string only = argc > 1 ? argv[1] : "";
  fmt::print(
      "{:22} {:17} {:>8} {:>6} {:>6} {:>8} {:>6} {:>8} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7}\n",
      "scenario", "strategy", "tasks", "links", "slack", "tasks'", "links'", "merged", "graph",
      "none s", "merge", "slack", "quot", "all s");
  for (const char* file :
       {"qwen3_235b_h100", "deepseek_v3_h100", "deepseek_v3_gb200", "nemotron_ultra_gb200",
        "qwen3_8_2_4t", "m2n_qwen3_235b_gb200", "m2n_deepseek_v3_gb200", "kimi_k3"}) {
    if (!only.empty() && only != file) continue;
    for (const char* strategy : {"gather_broadcast", "direct", "reshard", "hybrid", "optimal"}) {
      const Measured m = measured_child([&] { return one(file, strategy); });
      fmt::print("{:22} {:17} {}\n", file, strategy, m.text);
    }
  }
}
