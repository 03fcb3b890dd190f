#include "sim/predict.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "sim/detail/attribute.h"
#include "sim/detail/simulate.h"
#include "sim/detail/task_graph.h"

namespace refit {
namespace {

std::vector<PhaseTime> phase_times(const Schedule& schedule, const Timeline& timeline) {
  std::vector<PhaseTime> phases;
  std::vector<std::vector<Span>> work(schedule.phases.size());
  std::vector<bool> seen(schedule.phases.size(), false);
  for (const Phase& phase : schedule.phases) phases.push_back({phase.name, 0, 0, 0});
  for (std::size_t i = 0; i < schedule.ops.size(); ++i) {
    const Op& op = schedule.ops[i];
    if (op.phase >= phases.size()) continue;
    PhaseTime& phase = phases[op.phase];
    const Span& span = timeline[i];
    phase.start_s = seen[op.phase] ? std::min(phase.start_s, span.start_s) : span.start_s;
    phase.end_s = std::max(phase.end_s, span.end_s);
    seen[op.phase] = true;
    if (op.kind == OpKind::compute) work[op.phase].push_back(span);
  }
  for (std::size_t p = 0; p < phases.size(); ++p) phases[p].work_s = covered_s(std::move(work[p]));
  return phases;
}

LinkLoad busiest_link(const Cluster& cluster, const std::vector<double>& bytes, double makespan_s) {
  LinkLoad busiest;
  double most_s = -1;
  for (std::size_t l = 0; l < bytes.size(); ++l) {
    const Link& link = cluster.links()[l];
    const double seconds = bytes[l] / link.bandwidth_bytes_per_s;
    if (seconds <= most_s) continue;
    most_s = seconds;
    busiest = {LinkId{static_cast<std::int64_t>(l)}, link.name, link.kind, bytes[l],
               makespan_s > 0 ? seconds / makespan_s : 0};
  }
  return busiest;
}

Prediction predict_on(const Schedule& schedule, const Cluster& cluster,
                      const PredictOptions& options) {
  detail::TaskGraph graph = detail::make_task_graph(schedule, cluster, options.network_model);

  Prediction prediction;
  prediction.network_model = options.network_model.name;
  prediction.link_bytes = detail::link_bytes(graph);
  prediction.link_bytes.resize(cluster.links().size());  // without the limits of streams
  // Simulating leaves out what is never waited for; accounts are of the whole.
  const detail::TaskGraph whole = options.attribute ? graph : detail::TaskGraph();
  detail::Simulated simulated = detail::simulate(std::move(graph), options);
  prediction.solver = simulated.solver == Solver::native ? "native" : "incremental";
  prediction.solver_reason = std::move(simulated.solver_reason);
  prediction.reductions = simulated.reductions;
  prediction.timeline = std::move(simulated.timeline);
  for (const Span& span : prediction.timeline) {
    prediction.makespan_s = std::max(prediction.makespan_s, span.end_s);
  }
  prediction.phases = phase_times(schedule, prediction.timeline);
  prediction.busiest = busiest_link(cluster, prediction.link_bytes, prediction.makespan_s);
  if (options.attribute)
    prediction.attribution = detail::attribute(schedule, cluster, whole, prediction.timeline);
  return prediction;
}

}  // namespace

Prediction predict(const Schedule& schedule, const Cluster& cluster,
                   const PredictOptions& options) {
  if (schedule.caps.any()) return predict_on(schedule, cluster.capped(schedule.caps), options);
  return predict_on(schedule, cluster, options);
}

}  // namespace refit
