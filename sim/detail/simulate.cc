#include "sim/detail/simulate.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/detail/child.h"
#include "sim/detail/quotient.h"
#include "sim/detail/slack_links.h"
#include "sim/detail/solver.h"
#include "sim/detail/solver_choice.h"

namespace refit::detail {
namespace {

// Where everything is done at once anyhow, looking for less to do takes longer.
constexpr std::size_t kLeastTasks = 200;

// Start and end of the first `tasks` tasks, and how many took over from another.
std::pair<Timeline, std::size_t> run(const TaskGraph& graph, std::size_t tasks, Solver solver,
                                     bool merge) {
  const std::vector<double> numbers = run_in_child(2 * tasks + 1, [&] {
    std::size_t merged = 0;
    const Timeline all = run_solver(graph, solver, merge, &merged);
    std::vector<double> flat{static_cast<double>(merged)};
    flat.reserve(2 * tasks + 1);
    for (std::size_t i = 0; i < tasks; ++i) {
      flat.push_back(all[i].start_s);
      flat.push_back(all[i].end_s);
    }
    return flat;
  });
  Timeline timeline(tasks);
  for (std::size_t i = 0; i < tasks; ++i) timeline[i] = {numbers[2 * i + 1], numbers[2 * i + 2]};
  return {std::move(timeline), static_cast<std::size_t>(numbers[0])};
}

}  // namespace

Simulated simulate(TaskGraph graph, const PredictOptions& options) {
  Simulated result;
  ReductionReport& report = result.reductions;
  report.tasks = report.simulated_tasks = graph.tasks();
  const std::vector<bool> used = used_links(graph);
  report.links = static_cast<std::size_t>(std::count(used.begin(), used.end(), true));
  std::optional<Quotient> quotient;
  if (graph.tasks() >= kLeastTasks) {
    if (options.reductions.slack) report.slack_links = leave_out_slack_links(graph);
    if (options.reductions.quotient) quotient = make_quotient(graph);
  }
  report.simulated_links = report.links - report.slack_links;
  if (quotient) {
    report.simulated_tasks = quotient->graph.tasks();
    report.simulated_links = quotient->links;
  }
  const TaskGraph& simulated = quotient ? quotient->graph : graph;
  const SolverChoice choice =
      options.solver ? SolverChoice{*options.solver, "asked for"} : choose_solver(simulated);
  result.solver = choice.solver;
  result.solver_reason = choice.reason;
  report.merge = options.reductions.merge && choice.solver == Solver::incremental;

  const std::size_t tasks = quotient ? simulated.tasks() : graph.ops;
  std::tie(result.timeline, report.merged) = run(simulated, tasks, choice.solver, report.merge);
  if (quotient) {
    result.timeline = expand(*quotient, result.timeline);
    result.timeline.resize(graph.ops);
  }
  return result;
}

}  // namespace refit::detail
