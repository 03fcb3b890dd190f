#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/error.h"
#include "base/workers.h"
#include "cli/network_models.h"
#include "cli/number_options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/simulation.h"
#include "cli/strategies.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "report/json.h"
#include "report/sensitivity_words.h"
#include "report/summary.h"
#include "scenarios/plan_limits.h"
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
  bool csv = false;
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
  SimulationReport report =
      simulate_question(question, {options.strategies, predict_options(question.scenario, options),
                                   options.memory, options.ensemble})
          .report;
  report.explain = options.explain;
  const Paint paint = paint_of(options.output);
  std::string text = options.json  ? simulation_json(report)
                     : options.csv ? strategy_table(report).csv()
                                   : simulation_summary(report, paint);
  if (options.sensitivity) {
    const std::vector<Sensitivity> what_ifs = what_ifs_of(question.scenario, report, options);
    text =
        options.json ? with_sensitivity(text, what_ifs) : text + sensitivity_table(what_ifs, paint);
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
  CLI::Option* csv = add_csv(
      *verb, options->csv,
      verb->add_flag("--json", options->json, "Print refit.prediction/1 instead of a table"));
  verb->add_flag("--memory", options->memory,
                 "What ranks hold, by classes of equal ranks; with --json over time, too");
  verb->add_option(
          "--ensemble", options->ensemble,
          "Predict N more times with sizes and starts that differ a little: mean, spread, ties")
      ->check(number_from(2, 10'000));
  verb->add_flag("--explain", options->explain,
                 "What was left out before simulating, and which solver was taken why");
  verb->add_flag("--sensitivity", options->sensitivity,
                 "What faster NICs, larger NVLink domains and one engine more would change, each\n"
                 "planned and predicted anew, and what would be waited for then")
      ->excludes(csv);
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
