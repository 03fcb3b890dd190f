#include "sim/ensemble.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/workers.h"
#include "sim/detail/solver.h"
#include "sim/detail/task_graph.h"

namespace refit {
namespace {

constexpr std::uint64_t kSeed = 20'240'917;

// Uniform in 0 .. 1, by hand: the standard's distributions differ by library.
double unit(std::mt19937_64& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

double factor(double most, std::mt19937_64& random) { return 1 + most * (2 * unit(random) - 1); }

// The draws of a member depend on its number alone, so that workers may take any.
void shake(detail::TaskGraph& graph, const Jitter& jitter, int member) {
  std::mt19937_64 random(kSeed + static_cast<std::uint64_t>(member));
  if (jitter.rates > 0)
    for (double& rate : graph.paths.capacity_bytes_per_s) rate *= factor(jitter.rates, random);
  if (jitter.sizes > 0)
    for (double& bytes : graph.bytes) bytes *= factor(jitter.sizes, random);
  if (jitter.starts_s <= 0) return;
  for (std::size_t task = 0; task < graph.tasks(); ++task)
    if (graph.in_degree[task] == 0) graph.delay_s[task] += jitter.starts_s * unit(random);
}

double makespan_s(const detail::TaskGraph& graph, Solver solver) {
  const Timeline tasks = detail::run_solver(graph, solver);
  double end_s = 0;
  for (std::size_t i = 0; i < graph.ops; ++i) end_s = std::max(end_s, tasks[i].end_s);
  return end_s;
}

}  // namespace

Ensemble jittered_ensemble(const Schedule& schedule, const Cluster& cluster,
                           const PredictOptions& options, const Jitter& jitter, int members,
                           int workers) {
  REFIT_CHECK(members >= 1);
  const Solver solver = options.solver.value_or(Solver::incremental);
  detail::TaskGraph graph =
      schedule.caps.any()
          ? detail::make_task_graph(schedule, cluster.capped(schedule.caps), options.network_model)
          : detail::make_task_graph(schedule, cluster, options.network_model);
  std::vector<Job> jobs;
  for (int member = 0; member < members; ++member) {
    jobs.push_back({"simulation", [&graph, &jitter, solver, member] {
                      shake(graph, jitter, member);  // the worker's own copy
                      const double seconds = makespan_s(graph, solver);
                      return std::string(reinterpret_cast<const char*>(&seconds), sizeof seconds);
                    }});
  }
  std::vector<double> times;
  for (const std::string& text : run_in_workers(jobs, workers))
    std::memcpy(&times.emplace_back(), text.data(), sizeof(double));
  std::sort(times.begin(), times.end());
  return {times.front(), times[times.size() / 2], times.back(),
          std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(members), members};
}

}  // namespace refit
