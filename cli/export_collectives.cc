#include <cstdio>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/export_kinds.h"
#include "cli/output.h"
#include "report/export/msccl.h"
#include "scenarios/export/m2n.h"

namespace refit {
namespace {

int export_msccl(const ExportOptions& options) {
  const std::string output = options.output.value_or("-");
  require_other_file(options.file, output);
  const auto [scenario, schedule] = planned_question(options);
  write_output(output, msccl_algorithm(schedule, scenario.refit, scenario.cluster, scenario.name));
  return 0;
}

int export_m2n(const ExportOptions& options) {
  const std::string folder = export_folder(options);
  const Question question = load_question(options.file, options.machines, options.layout);
  const M2nFiles files = m2n_files(question.scenario);
  write_output(folder + "/model.json", files.model);
  write_output(folder + "/system.json", files.system);
  write_output(folder + "/calls.json", files.calls);
  if (files.refused_calls > 0)
    fmt::print(stderr, "refit: {} tensors are no call of ncclReshard; calls.json says why\n",
               files.refused_calls);
  return 0;
}

}  // namespace

void add_export_msccl(CLI::App& exports, Action& action) {
  CLI::App* verb =
      exports.add_subcommand("msccl", "A plan of transfers as an algorithm of MSCCL (XML)");
  auto options = std::make_shared<ExportOptions>();
  add_export_options(*verb, *options, "Write to a file; - (default) is standard output");
  add_export_strategy(*verb, *options);
  verb->callback([&action, options] { action = [options] { return export_msccl(*options); }; });
}

void add_export_m2n(CLI::App& exports, Action& action) {
  CLI::App* verb = exports.add_subcommand(
      "m2n", "Model, system and calls for NCCL M2N's reshard_model_bench (JSON)");
  auto options = std::make_shared<ExportOptions>();
  add_export_options(*verb, *options, "Folder for model.json, system.json and calls.json");
  verb->callback([&action, options] { action = [options] { return export_m2n(*options); }; });
}

}  // namespace refit
