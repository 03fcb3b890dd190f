#include "sweep/evaluate.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "base/units.h"
#include "planner/limits.h"
#include "scenarios/bound.h"
#include "schedule/verify.h"
#include "sim/attribution.h"
#include "sim/certificate.h"
#include "sim/memory.h"
#include "sim/network_parameters.h"
#include "sim/predict.h"
#include "sim/traffic.h"

namespace refit {
namespace {

Policy policy_of(const Scenario& scenario, const std::string& strategy) {
  if (strategy != "policy") return named_policy(strategy);
  if (!scenario.policy)
    throw Error(ErrorCode::bad_input, "strategy policy: the scenario has no policy of its own");
  return *scenario.policy;
}

Schedule proven_plan(const Scenario& scenario, const Policy& policy) {
  Schedule schedule = plan(scenario.refit, scenario.cluster, policy, scenario.plan);
  const Diagnostics findings = verify(schedule, scenario.refit);
  if (findings.empty()) return schedule;
  throw Error(ErrorCode::check_failed,
              fmt::format("{}: the {} plan is not correct: {}: {}", scenario.name,
                          schedule.strategy, findings.front().where, findings.front().message));
}

std::string what_is_over(const Scenario& scenario, const Schedule& schedule,
                         const Prediction& prediction, const MemoryUse& memory) {
  std::string text;
  if (memory.first_over) {
    const Rank rank = *memory.first_over;
    text = fmt::format("memory of rank {}: {} of {}", rank.value,
                       format_bytes(memory.peak[rank.index()].total()),
                       format_bytes(scenario.cluster.group(rank).gpu_memory_bytes));
  }
  const PlanLimits& limits = scenario.plan.limits;
  if (!limits.any()) return text;
  for (const std::string& line : exceeded(
           limits, plan_needs(schedule, scenario.refit, scenario.cluster, prediction.timeline))) {
    text += (text.empty() ? "" : "; ") + line;
  }
  return text;
}

// How sure the prediction is, and what most of it is spent on.
void add_times(const Attribution& where, const NetworkModel& model, SweepRow& row) {
  for (std::size_t p = 0; p < network_parameters().size(); ++p) {
    if (where.parameter_s[p] <= row.waits_s) continue;
    row.waits_for = network_parameters()[p].key;
    row.waits_s = where.parameter_s[p];
  }
  if (!model.uncertainty || is_wire_only(model)) return;
  const Band band = band_of(where, *model.uncertainty);
  // What is proven is no matter of probability.
  row.low_s = std::max(band.low_s, std::min(row.bound_s, row.prediction_s));
  row.high_s = band.high_s;
}

}  // namespace

void require_strategy(const YamlTree& strategy) {
  if (strategy.text == "policy") return;
  try {
    named_policy(strategy.kind == YamlTree::Kind::scalar ? strategy.text : one_line(strategy));
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{}: strategy: {}", strategy.where, error.what()));
  }
}

void predict_row(const Scenario& scenario, const std::string& strategy, SweepRow& row) {
  const Schedule schedule = proven_plan(scenario, policy_of(scenario, strategy));
  const Prediction prediction =
      predict(schedule, scenario.cluster, {scenario.network_model, {}, {}, true});
  row.prediction_s = prediction.makespan_s;
  const RefitBound bound = scenario_bound(scenario, schedule.coding.has_value());
  // How near the plan comes is not asked, only which bound is the plan's.
  const Certificate certificate = certify(schedule, scenario.cluster, bound, row.prediction_s);
  row.bound_s = certificate.bound_s;
  row.bound_by = certificate.bound_by;
  add_times(prediction.attribution.value(), scenario.network_model, row);
  const TrafficTotals traffic = traffic_totals(schedule, scenario.cluster);
  row.network_bytes = traffic.network_bytes;
  row.copies = traffic.copies;
  row.busiest_link = prediction.busiest.name;
  row.busiest_used = prediction.busiest.utilisation;
  const MemoryUse memory =
      memory_use(schedule, scenario.refit, scenario.cluster, prediction.timeline);
  row.memory_peak_bytes = memory.peak[memory.largest.index()].total();
  row.gpu_memory_bytes = scenario.cluster.group(memory.largest).gpu_memory_bytes;
  row.over = what_is_over(scenario, schedule, prediction, memory);
  row.outcome = PointOutcome::predicted;
}

Scenario scenario_of(const Sweep& sweep, const SweepPoint& point) {
  if (!point.scenario) throw Error(ErrorCode::bad_input, point.reason);
  try {
    return parse_scenario(point.scenario->text(), sweep.base_path);
  } catch (const Error& error) {
    throw Error(error.code(), point.scenario->with_origins(error.what()));
  }
}

SweepRow evaluate_point(const Sweep& sweep, std::int64_t number) {
  const SweepPoint point = point_of(sweep, number);
  SweepRow row;
  row.point = number;
  row.values = point.values;
  row.strategy = point.strategy;
  try {
    predict_row(scenario_of(sweep, point), point.strategy, row);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::bad_input) throw;
    row.reason = error.what();
  }
  return row;
}

}  // namespace refit
