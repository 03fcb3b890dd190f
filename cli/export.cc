#include <filesystem>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/error.h"
#include "cli/export_kinds.h"
#include "cli/progress.h"
#include "sim/predict.h"

namespace refit {
namespace {

// A kind is a verb below `export`, and adds itself as verbs do.
constexpr void (*kKinds[])(CLI::App& exports, Action& action) = {
    add_export_trace, add_export_csv,   add_export_simgrid, add_export_m2n,
    add_export_goal,  add_export_msccl, add_export_chakra,
};

}  // namespace

void add_export(CLI::App& app, Action& action) {
  CLI::App* verb =
      app.add_subcommand("export", "Write a plan or its prediction in the formats of other tools");
  verb->require_subcommand(1);
  for (const auto add : kKinds) add(*verb, action);
}

void add_export_options(CLI::App& verb, ExportOptions& options, const char* output_help) {
  verb.add_option("SCENARIO", options.file, "Scenario YAML, or a plan");
  add_layout_files(verb, options.layout);
  add_cluster_files(verb, options.machines);
  verb.add_option("-o,--output", options.output, output_help);
}

void add_export_strategy(CLI::App& verb, ExportOptions& options) {
  verb.add_option("--strategy", options.strategy,
                  std::string(kStrategyNames) + ";\ndefault: policy if there is one, else reshard");
}

void add_export_wire(CLI::App& verb, ExportOptions& options) {
  verb.add_flag("--wire-only", options.wire,
                "Times of bytes over links at line rate; default: the scenario's network model");
}

PlannedQuestion planned_question(const ExportOptions& options) {
  Question question = load_question(options.file, options.machines, options.layout);
  if (question.plan) {
    if (options.strategy) {
      throw Error(ErrorCode::bad_input, fmt::format("{}: is a {} plan; --strategy is for scenarios",
                                                    options.file, question.plan->strategy));
    }
    require_verified(*question.plan, question.scenario);
    return {std::move(question.scenario), std::move(*question.plan)};
  }
  const ChosenPolicy chosen = chosen_policy(question.scenario, options.strategy);
  say_reason(chosen.policy.name, chosen.reason);
  const Progress progress("planning " + chosen.policy.name);
  Schedule schedule = verified_plan(question.scenario, chosen.policy);
  return {std::move(question.scenario), std::move(schedule)};
}

Prediction prediction_of(const PlannedQuestion& question, const ExportOptions& options) {
  const Progress progress("simulating " + question.scenario.name);
  PredictOptions predict_options;
  if (!options.wire) predict_options.network_model = question.scenario.network_model;
  return predict(question.schedule, question.scenario.cluster, predict_options);
}

std::string export_folder(const ExportOptions& options) {
  if (!options.output || *options.output == "-")
    throw Error(ErrorCode::bad_input,
                "several files are written; say -o FOLDER, which is made if it is not there");
  std::error_code error;
  std::filesystem::create_directories(*options.output, error);
  if (error || !std::filesystem::is_directory(*options.output))
    throw Error(ErrorCode::environment,
                fmt::format("-o {}: can't be made a folder{}", *options.output,
                            error ? ": " + error.message() : ""));
  return *options.output;
}

}  // namespace refit
