#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "base/error.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/run_case.h"
#include "cli/runners.h"
#include "cli/verbs.h"
#include "report/comparison.h"
#include "report/measurement_json.h"
#include "sim/predict.h"

namespace refit {
namespace {

struct CompareOptions {
  std::string plan;
  std::string measurement;
  std::string output = "-";
};

int compare_files(const CompareOptions& options) {
  const Question question = load_question(options.plan);
  if (!question.plan) {
    throw Error(ErrorCode::bad_input,
                fmt::format("{}: is a scenario; compare needs the plan that was run, from "
                            "refit plan {} -o plan.json",
                            options.plan, options.plan));
  }
  const RunReport report = read_measurement(read_file(options.measurement), options.measurement);
  require_same_plan(*question.plan, question.scenario.name, options.plan, report,
                    options.measurement);
  if (report.measurement.fault) {
    throw Error(ErrorCode::bad_input,
                fmt::format("{}: rank {} was lost in this run, so its ops have no times to compare",
                            options.measurement, report.measurement.fault->lost.value));
  }
  if (question.plan->coding) {
    throw Error(ErrorCode::bad_input,
                fmt::format("{}: sends changes, whose sizes are known when they have been made; "
                            "refit run --lab holds its prediction for those against the clock",
                            options.plan));
  }
  Progress progress("simulating " + question.scenario.name);
  const RunCase run = run_case(question, std::nullopt,
                               report.scale ? std::optional(report.scale->factor) : std::nullopt);
  PredictOptions links_only;
  links_only.network_model.nic_efficiency = link_efficiency(report.measurement.transport);
  links_only.network_model.nvlink_efficiency = links_only.network_model.nic_efficiency;
  const Prediction prediction = predict(run.schedule, run.scenario.cluster, links_only);
  write_output(options.output,
               comparison_text(compare(run.schedule, run.scenario.cluster, prediction, report)));
  return 0;
}

}  // namespace

void add_compare(CLI::App& app, Action& action) {
  CLI::App* verb =
      app.add_subcommand("compare", "Hold a plan's prediction against its measurement, op by op");
  auto options = std::make_shared<CompareOptions>();
  verb->add_option("PLAN", options->plan, "A plan, from refit plan -o")->required();
  verb->add_option("MEASUREMENT", options->measurement, "Its run, from refit run --json -o")
      ->required();
  verb->add_option("-o,--output", options->output, "Write to a file; - is standard output");
  verb->callback([&action, options] {
    action = [options] {
      require_other_file(options->plan, options->output);
      return compare_files(*options);
    };
  });
}

}  // namespace refit
