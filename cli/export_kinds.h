#pragma once

#include <optional>
#include <string>

#include "cli/strategies.h"
#include "cli/verbs.h"
#include "sim/prediction.h"

namespace refit {

// What `refit export` can write, one function and one file each.
void add_export_trace(CLI::App& exports, Action& action);
void add_export_csv(CLI::App& exports, Action& action);
void add_export_simgrid(CLI::App& exports, Action& action);
void add_export_m2n(CLI::App& exports, Action& action);
void add_export_goal(CLI::App& exports, Action& action);
void add_export_msccl(CLI::App& exports, Action& action);
void add_export_chakra(CLI::App& exports, Action& action);

// The options that all of them have.
struct ExportOptions {
  std::string file;
  ClusterFileOptions machines;
  LayoutFileOptions layout;
  std::optional<std::string> strategy;
  std::optional<std::string> output;
  bool wire = false;
};

void add_export_options(CLI::App& verb, ExportOptions& options, const char* output_help);
// `--strategy`, for what is written of a plan; `--wire-only`, for what has times in it.
void add_export_strategy(CLI::App& verb, ExportOptions& options);
void add_export_wire(CLI::App& verb, ExportOptions& options);

// The scenario and a verified plan: the file's own, or that of the strategy.
struct PlannedQuestion {
  Scenario scenario;
  Schedule schedule;
};
PlannedQuestion planned_question(const ExportOptions& options);

// By the scenario's network model, or without software and latency.
Prediction prediction_of(const PlannedQuestion& question, const ExportOptions& options);

// The folder that -o names, made if it is not there. Error(bad_input) without -o: several files
// have no place on standard output.
std::string export_folder(const ExportOptions& options);

}  // namespace refit
