#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "base/units.h"
#include "base/workers.h"
#include "cli/auto_strategy.h"
#include "cli/network_models.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/strategies.h"
#include "cli/verbs.h"
#include "report/cluster_words.h"
#include "report/fault_words.h"
#include "report/json.h"
#include "report/sensitivity_words.h"
#include "report/summary.h"
#include "scenarios/plan_limits.h"
#include "sim/attribution.h"
#include "sim/certificate.h"
#include "sim/ensemble.h"
#include "sim/fault.h"
#include "sim/first_use.h"
#include "sim/memory.h"
#include "sim/network_parameters.h"
#include "sim/predict.h"
#include "sim/traffic.h"
#include "sweep/sensitivity.h"

namespace refit {
namespace {

struct SimulateOptions {
  std::string file;
  ClusterFileOptions machines;
  LayoutFileOptions layout;
  std::optional<std::string> strategies;
  std::vector<std::string> limits;
  bool json = false;
  bool wire = false;
  bool memory = false;
  int ensemble = 0;
  bool explain = false;
  bool sensitivity = false;
  std::vector<std::string> without;
  std::optional<std::string> network_model;
  std::optional<std::string> solver;
  std::string output = "-";
};

NetworkModel chosen_network_model(const Scenario& scenario, const SimulateOptions& options) {
  if (options.wire) return wire_only();
  return options.network_model ? network_model_named(*options.network_model)
                               : scenario.network_model;
}

PredictOptions predict_options(const Scenario& scenario, const SimulateOptions& options) {
  PredictOptions predict{chosen_network_model(scenario, options), {}};
  if (options.solver) {
    predict.solver = *options.solver == "native" ? Solver::native : Solver::incremental;
  }
  for (const std::string& name : options.without) {
    if (name == "merge") predict.reductions.merge = false;
    if (name == "slack") predict.reductions.slack = false;
    if (name == "quotient") predict.reductions.quotient = false;
  }
  return predict;
}

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

// Where the predicted seconds go, and how sure they are. Of wires alone there is nothing to say.
void add_times(const Schedule& schedule, const Task& task, const Prediction& prediction,
               StrategyResult& row) {
  const NetworkModel& model = task.predict.network_model;
  if (is_wire_only(model)) return;
  const Attribution where = attribute(schedule, task.scenario.cluster, model, prediction);
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

StrategyResult evaluate(const Schedule& schedule, const Task& task) {
  const Scenario& scenario = task.scenario;
  const TrafficTotals traffic = traffic_totals(schedule, scenario.cluster);
  const Prediction prediction = predict(schedule, scenario.cluster, task.predict);
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
  add_times(schedule, task, prediction, row);
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

// Of a strategy that keeps no limits there is nothing to show where others may be taken instead.
constexpr const char* kLeftOut = "";

std::vector<Job> jobs_for(const Question& question, const std::vector<Policy>& policies,
                          const Task& task) {
  if (question.plan) {
    return {{question.plan->strategy, [&question, &task] {
               require_verified(*question.plan, question.scenario);
               return to_json_text(evaluate(*question.plan, task));
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
                      StrategyResult row = evaluate(*schedule, task);
                      row.strategy = policy.name;
                      if (row.limits && keeps_limits(policy)) {
                        Scenario free = task.scenario;
                        free.plan.limits = {};
                        const Schedule without = verified_plan(free, policy);
                        row.limits->price_s =
                            row.predicted_s -
                            predict(without, free.cluster, task.predict).makespan_s;
                      }
                      return to_json_text(row);
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
std::vector<StrategyResult> rows_of(const Question& question, std::vector<Policy>& policies,
                                    const Task& task) {
  const std::vector<Job> jobs = jobs_for(question, policies, task);
  const std::string strategies =
      jobs.size() == 1 ? jobs.front().name : fmt::format("{} strategies", jobs.size());
  Progress progress("simulating " + strategies);
  const auto done = [&](std::size_t count) {
    progress.say(fmt::format("simulating {}, {} done", strategies, count));
  };
  std::vector<StrategyResult> rows;
  std::vector<Policy> shown;
  const std::vector<std::string> texts = run_in_workers(jobs, all_cores(), done);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (texts[i] == kLeftOut) continue;
    rows.push_back(parse_strategy_result(texts[i]));
    if (i < policies.size()) shown.push_back(policies[i]);
  }
  policies = std::move(shown);
  return rows;
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

SimulationReport simulate_all(const Question& question, const SimulateOptions& options) {
  const Scenario& scenario = question.scenario;
  const PredictOptions predict = predict_options(scenario, options);
  std::vector<Policy> policies;
  if (!question.plan) policies = chosen_policies(scenario, options.strategies);
  const bool coded = question.plan ? question.plan->coding.has_value()
                                   : std::ranges::any_of(policies, &Policy::coded);
  if (coded && !scenario.plan.delta) {
    throw Error(ErrorCode::bad_input,
                fmt::format("{}: sends what has changed, but the scenario has no `delta` that says "
                            "how much that is",
                            options.file));
  }
  const Task task{scenario,
                  bound_of(scenario),
                  coded ? std::optional(bound_of(scenario, true)) : std::nullopt,
                  predict,
                  options.memory,
                  options.ensemble,
                  policies.size() > 1 ? 1 : all_cores(),
                  options.strategies == kAuto};
  SimulationReport report{scenario.name,
                          model_words(scenario),
                          cluster_words(scenario.cluster),
                          scenario.assumptions,
                          rows_of(question, policies, task),
                          scenario.fault ? fault_words(*scenario.fault) : "",
                          conversion_totals(scenario.refit)};
  if (!question.plan && options.strategies == kAuto)
    report.chosen = chosen_of(report.strategies, policies, task);
  report.explain = options.explain;
  return report;
}

// Of the strategy that `auto` takes, or of all that were asked for.
std::vector<Sensitivity> what_ifs_of(const Scenario& scenario, const SimulationReport& report,
                                     const SimulateOptions& options) {
  std::vector<std::string> strategies;
  for (const StrategyResult& row : report.strategies) {
    if (!report.chosen || report.chosen->strategy == row.strategy)
      strategies.push_back(row.strategy);
  }
  const auto adjust = [&](Scenario& changed) {
    changed.plan.limits = parse_limits(options.limits, changed.plan.limits);
    changed.network_model = chosen_network_model(changed, options);
  };
  const Progress progress("what if: " + scenario.name);
  return sensitivity(scenario, strategies, all_cores(), adjust);
}

int simulate(const SimulateOptions& options) {
  Question question = load_question(options.file, options.machines, options.layout);
  if (question.plan && (options.strategies || !options.limits.empty())) {
    throw Error(ErrorCode::bad_input, fmt::format("{}: is a {} plan; {} is for scenarios",
                                                  options.file, question.plan->strategy,
                                                  options.strategies ? "--strategy" : "--limit"));
  }
  if (question.plan && options.sensitivity) {
    throw Error(ErrorCode::bad_input,
                fmt::format("{}: is a {} plan; --sensitivity plans anew and is for scenarios",
                            options.file, question.plan->strategy));
  }
  PlanLimits& limits = question.scenario.plan.limits;
  limits = parse_limits(options.limits, limits);
  const SimulationReport report = simulate_all(question, options);
  std::string text = options.json ? simulation_json(report) : simulation_summary(report);
  if (options.sensitivity) {
    const std::vector<Sensitivity> what_ifs = what_ifs_of(question.scenario, report, options);
    text = options.json ? with_sensitivity(text, what_ifs) : text + sensitivity_table(what_ifs);
  }
  write_output(options.output, text);
  return 0;
}

}  // namespace

void add_simulate(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("simulate", "Predict how long a refit takes, per strategy");
  auto options = std::make_shared<SimulateOptions>();
  verb->add_option("SCENARIO", options->file, "Scenario YAML, or a plan");
  add_layout_files(*verb, options->layout);
  add_cluster_files(*verb, options->machines);
  verb->add_option("--strategy", options->strategies,
                   std::string("Comma separated: ") + kStrategyNames + "; default: all but auto");
  verb->add_option("--limit", options->limits, kLimitHelp);
  verb->add_flag("--json", options->json, "Print refit.prediction/1 instead of a table");
  verb->add_flag("--memory", options->memory,
                 "What ranks hold, by classes of equal ranks; with --json over time, too");
  verb->add_option(
          "--ensemble", options->ensemble,
          "Predict N more times with sizes and starts that differ a little: mean, spread, ties")
      ->check(CLI::Range(2, 10'000));
  verb->add_flag("--explain", options->explain,
                 "What was left out before simulating, and which solver was taken why");
  verb->add_flag("--sensitivity", options->sensitivity,
                 "What faster NICs, larger NVLink domains and one engine more would change, each\n"
                 "planned and predicted anew, and what would be waited for then");
  verb->add_option("--without", options->without,
                   "Comma separated: merge, slack, quotient; simulate without these reductions")
      ->delimiter(',')
      ->check(CLI::IsMember({"merge", "slack", "quotient"}));
  CLI::Option* wire =
      verb->add_flag("--wire-only", options->wire, "Bytes over links at line rate, nothing else");
  verb->add_option("--network-model", options->network_model,
                   "Name or YAML file; default: the scenario's")
      ->excludes(wire);
  verb->add_option("--solver", options->solver,
                   "native (SimGrid's own) or incremental; default: native for small plans")
      ->check(CLI::IsMember({"native", "incremental"}));
  verb->add_option("-o,--output", options->output, "Write to a file; - is standard output");
  verb->callback([&action, options] {
    action = [options] {
      require_other_file(options->file, options->output);
      return simulate(*options);
    };
  });
}

}  // namespace refit
