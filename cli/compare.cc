#include <memory>
#include <string>

#include "cli/measured_plan.h"
#include "cli/output.h"
#include "cli/verbs.h"
#include "report/comparison.h"

namespace refit {
namespace {

struct CompareOptions {
  std::string plan;
  std::string measurement;
  std::string output = "-";
};

int compare_files(const CompareOptions& options) {
  const MeasuredPlan measured = load_measured_plan(options.plan, options.measurement, "compare");
  write_output(options.output,
               comparison_text(compare(measured.run.schedule, measured.run.scenario.cluster,
                                       measured.prediction, measured.report)));
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
