#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "cli/network_models.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/verbs.h"
#include "validation/calibration.h"

namespace refit {
namespace {

struct CalibrateOptions {
  std::optional<std::string> rows;
  std::string start = "default";
  std::string name = "calibrated";
  std::optional<std::string> folds;
  std::string output = "-";
};

int calibrate(const CalibrateOptions& options) {
  const Progress progress("planning and fitting rows");
  const RowRuns rows =
      plan_rows(options.rows ? read_published_rows(*options.rows) : published_rows());
  const Calibration calibration =
      calibrate(rows.runs, network_model_named(options.start), options.name,
                "least-squares fit over published refit times");
  write_output(options.output, network_model_yaml(calibration));
  if (options.folds) write_output(*options.folds, folds_yaml(calibration));
  return 0;
}

}  // namespace

void add_calibrate(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("calibrate", "Fit the constants of a network model to times");
  auto options = std::make_shared<CalibrateOptions>();
  verb->add_option("--rows", options->rows,
                   "CSV of published times; default: those that come with the program");
  verb->add_option("--start", options->start,
                   "Network model that gives what is not fitted; default: default");
  verb->add_option("--name", options->name, "Of the network model; default: calibrated");
  verb->add_option("--folds", options->folds, "Write the constants of left-out fits to this file");
  verb->add_option("-o,--output", options->output, "Write to a file; - is standard output");
  verb->callback([&action, options] { action = [options] { return calibrate(*options); }; });
}

}  // namespace refit
