#include "cli/simulation.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/units.h"
#include "base/workers.h"
#include "cli/auto_strategy.h"
#include "cli/progress.h"
#include "report/cluster_words.h"
#include "report/fault_words.h"
#include "report/json.h"
#include "sim/attribution.h"
#include "sim/certificate.h"
#include "sim/ensemble.h"
#include "sim/fault.h"
#include "sim/first_use.h"
#include "sim/memory.h"
#include "sim/network_parameters.h"
#include "sim/traffic.h"

namespace refit {
namespace {

// All rows are answers to this.
struct Task {
  const Scenario& scenario;
  RefitBound bound;                       // of plans that send weights as they are
  std::optional<RefitBound> coded_bound;  // of those that send changes, if there are any
  PredictOptions predict;
  bool by_memory = false;
  int ensemble_members = 0;
  int ensemble_workers = 1;
  bool choose = false;  // `auto`: whoever can't keep the limits is left out
  const PlanText& plan_text;
};

LimitUse limit_use(const Schedule& schedule, const Scenario& scenario,
                   const Prediction& prediction) {
  const PlanNeeds needs =
      plan_needs(schedule, scenario.refit, scenario.cluster, prediction.timeline);
  return {needs.extra_memory_bytes,
          needs.ops,
          needs.communicators,
          needs.peers,
          std::nullopt,
          exceeded(scenario.plan.limits, needs)};
}

// Whether the strategy plans otherwise where something is limited.
bool keeps_limits(const Policy& policy) { return policy.rest == Strategy::optimal; }

// Of wires alone there is nothing to say about where the time goes.
Prediction predict_with_times(const Schedule& schedule, const Task& task) {
  PredictOptions options = task.predict;
  options.attribute = !is_wire_only(options.network_model);
  return predict(schedule, task.scenario.cluster, options);
}

// Where the predicted seconds go, and how sure they are.
void add_times(const Attribution& where, const NetworkModel& model, StrategyResult& row) {
  for (std::size_t p = 0; p < network_parameters().size(); ++p) {
    if (where.parameter_s[p] > 0) {
      row.seconds_by_constant.emplace_back(network_parameters()[p].key, where.parameter_s[p]);
    }
  }
  if (model.uncertainty) {
    const Band band = band_of(where, *model.uncertainty);
    row.low_s = std::max(band.low_s, std::min(row.certificate.bound_s, row.predicted_s));
    row.high_s = band.high_s;
  }
}

StrategyResult evaluate(const Schedule& schedule, const Task& task, const Prediction& prediction) {
  const Scenario& scenario = task.scenario;
  const TrafficTotals traffic = traffic_totals(schedule, scenario.cluster);
  PredictOptions wire = task.predict;
  wire.network_model = wire_only();
  const double wire_s = is_wire_only(task.predict.network_model)
                            ? prediction.makespan_s
                            : predict(schedule, scenario.cluster, wire).makespan_s;
  StrategyResult row;
  row.strategy = schedule.strategy;
  row.ops = static_cast<std::int64_t>(schedule.ops.size());
  row.unique_bytes = scenario.refit.unique_bytes();
  row.payload_bytes = scenario.refit.payload_bytes();
  row.logical_bytes = traffic.logical_bytes;
  row.network_bytes = traffic.network_bytes;
  row.nvlink_bytes = traffic.nvlink_bytes;
  row.copies = traffic.copies;
  if (schedule.coding) row.coded = scenario.plan.delta.value().words;
  row.certificate = certify(schedule, scenario.cluster,
                            schedule.coding ? task.coded_bound.value() : task.bound, wire_s);
  row.predicted_s = prediction.makespan_s;
  row.busiest = prediction.busiest;
  row.phases = prediction.phases;
  row.network_model = prediction.network_model;
  row.solver = prediction.solver;
  row.solver_reason = prediction.solver_reason;
  row.reductions = prediction.reductions;
  const MemoryUse memory =
      memory_use(schedule, scenario.refit, scenario.cluster, prediction.timeline);
  const RankMemoryUse& fullest = memory.peak[memory.largest.index()];
  row.memory_rank = memory.largest;
  row.memory_bytes = fullest.total();
  if (prediction.attribution) add_times(*prediction.attribution, task.predict.network_model, row);
  row.first_use = first_use(schedule, fullest.total(), task.predict.network_model);
  row.memory_dominant = to_string(fullest.dominant());
  row.memory_dominant_bytes = fullest.bytes[static_cast<std::size_t>(fullest.dominant())];
  row.gpu_memory_bytes = scenario.cluster.group(memory.largest).gpu_memory_bytes;
  row.memory_over = memory.first_over;
  if (task.by_memory)
    row.memory_by_class =
        memory_by_class(schedule, scenario.refit, scenario.cluster, prediction.timeline);
  if (task.ensemble_members > 0) {
    row.ensemble = jittered_ensemble(schedule, scenario.cluster, task.predict, kUnequalRuns,
                                     task.ensemble_members, task.ensemble_workers);
  }
  if (scenario.plan.limits.any()) row.limits = limit_use(schedule, scenario, prediction);
  if (scenario.fault) {
    row.fault = predict_fault(schedule, scenario.refit, scenario.cluster, *scenario.fault,
                              prediction, task.predict);
  }
  return row;
}

// A row and the caller's text as one: a row has no line end.
std::string job_text(const Schedule& schedule, const Task& task, const Prediction& prediction,
                     const StrategyResult& row) {
  std::string text = to_json_text(row);
  if (task.plan_text) text += "\n" + task.plan_text(schedule, prediction, row);
  return text;
}

// Of a strategy that keeps no limits there is nothing to show where others may be taken instead.
constexpr const char* kLeftOut = "";

std::vector<Job> jobs_for(const Question& question, const std::vector<Policy>& policies,
                          const Task& task) {
  if (question.plan) {
    return {{question.plan->strategy, [&question, &task] {
               require_verified(*question.plan, question.scenario);
               const Prediction prediction = predict_with_times(*question.plan, task);
               return job_text(*question.plan, task, prediction,
                               evaluate(*question.plan, task, prediction));
             }}};
  }
  std::vector<Job> jobs;
  for (const Policy& policy : policies) {
    jobs.push_back({policy.name,
                    [&task, policy] {
                      const std::optional<Schedule> schedule =
                          task.choose ? plan_within_limits(task.scenario, policy)
                                      : verified_plan(task.scenario, policy);
                      if (!schedule) return std::string(kLeftOut);
                      const Prediction prediction = predict_with_times(*schedule, task);
                      StrategyResult row = evaluate(*schedule, task, prediction);
                      row.strategy = policy.name;
                      if (row.limits && keeps_limits(policy)) {
                        Scenario free = task.scenario;
                        free.plan.limits = {};
                        const Schedule without = verified_plan(free, policy);
                        row.limits->price_s =
                            row.predicted_s -
                            predict(without, free.cluster, task.predict).makespan_s;
                      }
                      return job_text(*schedule, task, prediction, row);
                    },
                    job_size(policy)});
  }
  return jobs;
}

std::string model_words(const Scenario& scenario) {
  if (scenario.model) {
    return fmt::format("{}, {} parameters in {} tensors", scenario.model->name,
                       format_count(scenario.model->parameters()),
                       format_count(scenario.model->checkpoint_tensors()));
  }
  std::size_t tensors = 0;
  for (const TensorClass& tensor_class : scenario.refit.classes) {
    tensors += tensor_class.members.size();
  }
  return fmt::format("none; {} tensor{} written out", tensors, tensors == 1 ? "" : "s");
}

// The rows, one after the other as they end. Policies that are left out are taken off the list.
void add_rows(const Question& question, std::vector<Policy>& policies, const Task& task,
              Simulation& simulation) {
  const std::vector<Job> jobs = jobs_for(question, policies, task);
  const std::string strategies =
      jobs.size() == 1 ? jobs.front().name : fmt::format("{} strategies", jobs.size());
  Progress progress("simulating " + strategies);
  const auto done = [&](std::size_t count) {
    progress.say(fmt::format("simulating {}, {} done", strategies, count));
  };
  std::vector<Policy> shown;
  const std::vector<std::string> texts = run_in_workers(jobs, all_cores(), done);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (texts[i] == kLeftOut) continue;
    const std::size_t end = std::min(texts[i].find('\n'), texts[i].size());
    simulation.report.strategies.push_back(parse_strategy_result(texts[i].substr(0, end)));
    if (end < texts[i].size()) simulation.plan_texts.push_back(texts[i].substr(end + 1));
    if (i < policies.size()) shown.push_back(policies[i]);
  }
  policies = std::move(shown);
}

SimulationReport::Chosen chosen_of(const std::vector<StrategyResult>& rows,
                                   const std::vector<Policy>& policies, const Task& task) {
  std::vector<Policy> within;
  std::vector<Candidate> candidates;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].limits && !rows[i].limits->exceeded.empty()) continue;
    within.push_back(policies[i]);
    candidates.push_back({rows[i].strategy, rows[i].ops, rows[i].predicted_s});
  }
  if (within.empty()) throw nobody_keeps_limits(task.scenario);
  Choice choice = choose_among(task.scenario, within, std::move(candidates), task.predict);
  return {within[choice.index].name, std::move(choice.reason)};
}

}  // namespace

Simulation simulate_question(const Question& question, const SimulationOptions& options,
                             const PlanText& plan_text) {
  const Scenario& scenario = question.scenario;
  std::vector<Policy> policies;
  if (!question.plan) policies = chosen_policies(scenario, options.strategies);
  const bool coded = question.plan ? question.plan->coding.has_value()
                                   : std::ranges::any_of(policies, &Policy::coded);
  if (coded && !scenario.plan.delta) {
    throw Error(ErrorCode::bad_input,
                fmt::format("{}: sends what has changed, but the scenario has no `delta` that says "
                            "how much that is",
                            scenario.path));
  }
  const bool choose = !question.plan && options.strategies == kAuto;
  const Task task{scenario,
                  bound_of(scenario),
                  coded ? std::optional(bound_of(scenario, true)) : std::nullopt,
                  options.predict,
                  options.by_memory,
                  options.ensemble_members,
                  policies.size() > 1 ? 1 : all_cores(),
                  choose,
                  plan_text};
  Simulation simulation;
  SimulationReport& report = simulation.report;
  report.scenario = scenario.name;
  report.model = model_words(scenario);
  report.cluster = cluster_words(scenario.cluster);
  report.assumptions = scenario.assumptions;
  report.fault = scenario.fault ? fault_words(*scenario.fault) : "";
  report.conversions = conversion_totals(scenario.refit);
  add_rows(question, policies, task, simulation);
  if (choose) report.chosen = chosen_of(report.strategies, policies, task);
  return simulation;
}

}  // namespace refit
