#include "sim/ensemble.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>

#include "sim/detail/child.h"
#include "sim/detail/solver.h"
#include "sim/detail/task_graph.h"

namespace refit {
namespace {

constexpr std::uint64_t kSeed = 20'240'917;

// Uniform in 1 - kJitter .. 1 + kJitter, by hand: the standard's distributions differ by library.
double factor(std::mt19937_64& random) {
  const double unit = static_cast<double>(random() >> 11) * 0x1p-53;
  return 1 + kJitter * (2 * unit - 1);
}

double makespan_s(const detail::TaskGraph& graph, Solver solver) {
  return detail::run_in_child(1, [&] {
    const Timeline tasks =
        solver == Solver::native ? detail::run_native(graph) : detail::run_incremental(graph);
    double end_s = 0;
    for (std::size_t i = 0; i < graph.ops; ++i) end_s = std::max(end_s, tasks[i].end_s);
    return std::vector<double>{end_s};
  })[0];
}

}  // namespace

Ensemble jittered_ensemble(const Schedule& schedule, const Cluster& cluster,
                           const PredictOptions& options) {
  const Solver solver = options.solver.value_or(Solver::incremental);
  detail::TaskGraph graph =
      schedule.caps.any()
          ? detail::make_task_graph(schedule, cluster.capped(schedule.caps), options.network_model)
          : detail::make_task_graph(schedule, cluster, options.network_model);
  const std::vector<double> rates = graph.paths.capacity_bytes_per_s;
  std::mt19937_64 random(kSeed);
  std::array<double, kMembers> times{};
  for (double& time : times) {
    for (std::size_t l = 0; l < rates.size(); ++l)
      graph.paths.capacity_bytes_per_s[l] = rates[l] * factor(random);
    time = makespan_s(graph, solver);
  }
  std::sort(times.begin(), times.end());
  return {times.front(), times[kMembers / 2], times.back()};
}

}  // namespace refit
