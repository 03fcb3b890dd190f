#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "base/units.h"
#include "base/yaml.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/strategies.h"
#include "cli/verbs.h"
#include "cli/workers.h"
#include "report/cluster_words.h"
#include "report/fault_words.h"
#include "report/json.h"
#include "report/summary.h"
#include "sim/fault.h"
#include "sim/flow_bound.h"
#include "sim/lower_bound.h"
#include "sim/memory.h"
#include "sim/predict.h"
#include "sim/traffic.h"

namespace refit {
namespace {

struct SimulateOptions {
  std::string file;
  std::optional<std::string> strategies;
  bool json = false;
  bool wire = false;
  bool memory = false;
  std::optional<std::string> network_model;
  std::optional<std::string> solver;
  std::string output = "-";
};

NetworkModel chosen_network_model(const Scenario& scenario, const SimulateOptions& options) {
  if (options.wire) return wire_only();
  if (!options.network_model) return scenario.network_model;
  const std::string& name = *options.network_model;
  const std::vector<std::string> known = catalog_network_models();
  if (std::find(known.begin(), known.end(), name) != known.end()) {
    return catalog_network_model(name);
  }
  const bool is_path = name.find('/') != std::string::npos || name.ends_with(".yaml") ||
                       name.ends_with(".yml") || std::filesystem::exists(name);
  if (is_path) return read_network_model(YamlNode::parse_file(name));
  throw Error(ErrorCode::bad_input,
              fmt::format("--network-model: '{}' is neither a file nor one of {}", name,
                          fmt::join(known, ", ")));
}

PredictOptions predict_options(const Scenario& scenario, const SimulateOptions& options) {
  PredictOptions predict{chosen_network_model(scenario, options), {}};
  if (options.solver) {
    predict.solver = *options.solver == "native" ? Solver::native : Solver::incremental;
  }
  return predict;
}

StrategyResult evaluate(const Schedule& schedule, const Scenario& scenario,
                        const PredictOptions& options, bool by_memory) {
  const TrafficTotals traffic = traffic_totals(schedule, scenario.cluster);
  // In gathers and broadcasts ranks pass on what they neither own nor want; there only the cuts
  // hold.
  const bool has_collectives = std::any_of(schedule.ops.begin(), schedule.ops.end(), is_collective);
  const Prediction prediction = predict(schedule, scenario.cluster, options);
  StrategyResult row;
  row.strategy = schedule.strategy;
  row.ops = static_cast<std::int64_t>(schedule.ops.size());
  row.unique_bytes = scenario.refit.unique_bytes();
  row.payload_bytes = scenario.refit.payload_bytes();
  row.logical_bytes = traffic.logical_bytes;
  row.network_bytes = traffic.network_bytes;
  row.nvlink_bytes = traffic.nvlink_bytes;
  row.copies = traffic.copies;
  if (has_collectives) {
    const LowerBound bound = lower_bound(schedule.parcels, scenario.cluster);
    row.bound_s = bound.seconds;
    row.bound_by = bound.binding.name;
  } else {
    const FlowBound bound = flow_bound(schedule.parcels, scenario.cluster);
    row.bound_s = bound.seconds;
    row.bound_by = bound.binding;
    row.no_relay_bound_s = bound.no_relay_seconds;
  }
  row.predicted_s = prediction.makespan_s;
  row.busiest = prediction.busiest;
  row.phases = prediction.phases;
  row.network_model = prediction.network_model;
  row.solver = prediction.solver;
  const MemoryUse memory =
      memory_use(schedule, scenario.refit, scenario.cluster, prediction.timeline);
  const RankMemoryUse& fullest = memory.peak[memory.largest.index()];
  row.memory_rank = memory.largest;
  row.memory_bytes = fullest.total();
  row.memory_dominant = to_string(fullest.dominant());
  row.memory_dominant_bytes = fullest.bytes[static_cast<std::size_t>(fullest.dominant())];
  row.gpu_memory_bytes = scenario.cluster.group(memory.largest).gpu_memory_bytes;
  row.memory_over = memory.first_over;
  if (by_memory)
    row.memory_by_class =
        memory_by_class(schedule, scenario.refit, scenario.cluster, prediction.timeline);
  if (scenario.fault) {
    row.fault = predict_fault(schedule, scenario.refit, scenario.cluster, *scenario.fault,
                              prediction, options);
  }
  return row;
}

std::vector<Job> jobs_for(const Question& question, const SimulateOptions& options,
                          const PredictOptions& predict) {
  const Scenario& scenario = question.scenario;
  if (question.plan) {
    return {{question.plan->strategy, [&question, &predict, &options] {
               require_verified(*question.plan, question.scenario);
               return to_json_text(
                   evaluate(*question.plan, question.scenario, predict, options.memory));
             }}};
  }
  std::vector<Job> jobs;
  for (const Policy& policy : chosen_policies(scenario, options.strategies)) {
    jobs.push_back({policy.name, [&scenario, &predict, &options, policy] {
                      const Schedule schedule = verified_plan(scenario, policy);
                      StrategyResult row = evaluate(schedule, scenario, predict, options.memory);
                      row.strategy = policy.name;
                      return to_json_text(row);
                    }});
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

SimulationReport simulate_all(const Question& question, const SimulateOptions& options) {
  const Scenario& scenario = question.scenario;
  const PredictOptions predict = predict_options(scenario, options);
  const std::vector<Job> jobs = jobs_for(question, options, predict);
  SimulationReport report{scenario.name,
                          model_words(scenario),
                          cluster_words(scenario.cluster),
                          scenario.assumptions,
                          {},
                          scenario.fault ? fault_words(*scenario.fault) : "",
                          conversion_totals(scenario.refit)};
  const std::string strategies =
      jobs.size() == 1 ? jobs.front().name : fmt::format("{} strategies", jobs.size());
  Progress progress("simulating " + strategies);
  const auto done = [&](std::size_t count) {
    progress.say(fmt::format("simulating {}, {} done", strategies, count));
  };
  for (const std::string& row : run_in_workers(jobs, kMostWorkers, done)) {
    report.strategies.push_back(parse_strategy_result(row));
  }
  return report;
}

int simulate(const SimulateOptions& options) {
  const Question question = load_question(options.file);
  if (question.plan && options.strategies) {
    throw Error(ErrorCode::bad_input, fmt::format("{}: is a {} plan; --strategy is for scenarios",
                                                  options.file, question.plan->strategy));
  }
  const SimulationReport report = simulate_all(question, options);
  write_output(options.output, options.json ? simulation_json(report) : simulation_summary(report));
  return 0;
}

}  // namespace

void add_simulate(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("simulate", "Predict how long a refit takes, per strategy");
  auto options = std::make_shared<SimulateOptions>();
  verb->add_option("SCENARIO", options->file, "Scenario YAML, or a plan")->required();
  verb->add_option("--strategy", options->strategies,
                   "Comma separated: gather_broadcast, direct, reshard, hybrid, policy (the\n"
                   "scenario's own); default: all");
  verb->add_flag("--json", options->json, "Print refit.prediction/1 instead of a table");
  verb->add_flag("--memory", options->memory,
                 "What ranks hold, by classes of equal ranks; with --json over time, too");
  CLI::Option* wire =
      verb->add_flag("--wire-only", options->wire, "Bytes over links at line rate, nothing else");
  verb->add_option("--network-model", options->network_model,
                   "Name or YAML file; default: the scenario's")
      ->excludes(wire);
  verb->add_option("--solver", options->solver, "incremental (default) or native (SimGrid's own)")
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
