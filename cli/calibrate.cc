#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/error.h"
#include "cli/measured_files.h"
#include "cli/network_models.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/verbs.h"
#include "validation/calibration.h"
#include "validation/measured_fit.h"
#include "validation/network_model_yaml.h"

namespace refit {
namespace {

struct CalibrateOptions {
  std::vector<std::string> files;
  std::optional<std::string> cluster;
  std::string start = "default";
  std::string name = "calibrated";
  std::optional<std::string> folds;
  bool residuals = false;
  std::string output = "-";
};

void calibrate_rows(const std::optional<std::string>& path, const CalibrateOptions& options) {
  if (options.residuals)
    throw Error(ErrorCode::bad_input,
                "--residuals is for measurements; refit validate shows each published row");
  const Progress progress("planning and fitting rows");
  RowRuns rows = plan_rows(path ? read_published_rows(*path) : published_rows());
  std::erase_if(rows.runs, [](const RowRun& run) { return run.question.own_network; });
  const Calibration calibration =
      calibrate(rows.runs, network_model_named(options.start), options.name,
                "least-squares fit over published refit times");
  write_output(options.output, network_model_yaml(calibration));
  if (options.folds) write_output(*options.folds, folds_yaml(calibration));
}

void calibrate_measured(const std::vector<MeasuredSeries>& series,
                        const CalibrateOptions& options) {
  if (options.folds)
    throw Error(ErrorCode::bad_input, "--folds is for published rows, of which none is given");
  const NetworkModel start = network_model_named(options.start);
  const MeasuredFit fit = fit_measured(series, start);
  const NetworkModel model = with_measured(start, fit, options.name);
  write_output(
      options.output,
      network_model_yaml(
          model, {"Written by `refit calibrate`; do not edit. What was not measured is from the "
                  "network model " +
                  base_name(options.start) + "."}));
  fmt::print(stderr, "{}", measured_fit_text(fit));
  if (options.residuals) fmt::print(stderr, "{}", residuals_text(series, fit));
}

int calibrate(const CalibrateOptions& options) {
  for (const std::string& file : options.files) require_other_file(file, options.output);
  const MeasuredFiles files = read_measured_files(options.files, options.cluster);
  if (files.series.empty()) {
    calibrate_rows(files.published_rows, options);
  } else {
    calibrate_measured(files.series, options);
  }
  return 0;
}

}  // namespace

void add_calibrate(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("calibrate", "Fit the constants of a network model to times");
  auto options = std::make_shared<CalibrateOptions>();
  verb->add_option("FILES,--rows", options->files,
                   "Measurements: output of nccl-tests, output of NCCL M2N's reshard_model_bench, "
                   "JSON of refit run; or a CSV of published refits. Told by their content; "
                   "default: the published refits that come with the program");
  verb->add_option("--cluster", options->cluster,
                   "The machines of the logs: a cluster of the catalog, or YAML");
  verb->add_option("--start", options->start,
                   "Network model that gives what is not fitted; default: default");
  verb->add_option("--name", options->name, "Of the network model; default: calibrated");
  verb->add_option("--folds", options->folds,
                   "Published refits: write the constants of left-out fits to this file");
  verb->add_flag("--residuals", options->residuals,
                 "Measurements: print predicted beside measured, to standard error");
  verb->add_option("-o,--output", options->output, "Write to a file; - is standard output");
  verb->callback([&action, options] { action = [options] { return calibrate(*options); }; });
}

}  // namespace refit
