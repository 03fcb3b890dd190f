#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "cli/measured_plan.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "report/comparison.h"

namespace refit {
namespace {

struct CompareOptions {
  std::string plan;
  std::string measurement;
  bool json = false;
  bool csv = false;
  std::string output = "-";
};

int compare_files(const CompareOptions& options) {
  const MeasuredPlan measured = load_measured_plan(options.plan, options.measurement, "compare");
  const Comparison comparison = compare(measured.run.schedule, measured.run.scenario.cluster,
                                        measured.prediction, measured.report);
  write_output(options.output, options.json
                                   ? comparison_table(comparison).json("refit.comparison/1")
                               : options.csv ? comparison_table(comparison).csv()
                                             : comparison_text(comparison));
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
  add_csv(*verb, options->csv,
          verb->add_flag("--json", options->json, "Print refit.comparison/1 instead of tables"));
  verb->add_option("-o,--output", options->output, "Write to a file; - is standard output");
  verb->callback([&action, options] {
    action = [options] {
      require_other_file(options->plan, options->output);
      return compare_files(*options);
    };
  });
}

}  // namespace refit
