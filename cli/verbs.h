#pragma once

#include <functional>

#include "cli/cli11_fwd.h"

namespace refit {

// What the chosen verb does once all options are read; returns the exit code.
using Action = std::function<int()>;

// Each verb adds itself to the command line and, when chosen, says what to do.
void add_check(CLI::App& app, Action& action);
void add_plan(CLI::App& app, Action& action);
void add_simulate(CLI::App& app, Action& action);
void add_run(CLI::App& app, Action& action);
void add_crossover(CLI::App& app, Action& action);
void add_compare(CLI::App& app, Action& action);
void add_graph(CLI::App& app, Action& action);
void add_report(CLI::App& app, Action& action);
void add_models(CLI::App& app, Action& action);
void add_clusters(CLI::App& app, Action& action);
void add_size(CLI::App& app, Action& action);
void add_sweep(CLI::App& app, Action& action);
void add_systems(CLI::App& app, Action& action);
void add_validate(CLI::App& app, Action& action);
void add_calibrate(CLI::App& app, Action& action);
void add_import(CLI::App& app, Action& action);
void add_export(CLI::App& app, Action& action);
void add_delta(CLI::App& app, Action& action);
void add_completion(CLI::App& app, Action& action);
void add_help(CLI::App& app, Action& action);

// The whole command: reads the arguments, runs a verb, prints errors once, returns the exit code.
int run_refit(int argc, const char* const* argv);

}  // namespace refit
