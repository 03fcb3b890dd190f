#include <memory>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/units.h"
#include "base/workers.h"
#include "base/yaml.h"
#include "cli/bar.h"
#include "cli/number_options.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "report/size_words.h"
#include "sweep/size.h"

namespace refit {
namespace {

struct SizeOptions {
  std::string file;
  std::optional<std::string> step, below;
  std::string output = "-";
  int jobs = 0;
  bool json = false;
  bool csv = false;
};

SizeOverrides overrides(const SizeOptions& options) {
  const auto value = [](const std::string& option, std::string text) {
    // In single quotes YAML knows nothing but the end of the quote.
    for (std::size_t at = 0; (at = text.find('\'', at)) != text.npos; at += 2)
      text.insert(at, 1, '\'');
    return YamlNode::parse_text(fmt::format("{}: '{}'", option, text), "command line").at(option);
  };
  SizeOverrides result;
  if (options.step) result.step_s = value("--step", *options.step).seconds();
  if (options.below) result.below = value("--below", *options.below).percent();
  return result;
}

int size(const SizeOptions& options) {
  const SizeQuestion question = load_size(options.file, overrides(options));
  SweepRun run;
  run.workers = options.jobs > 0 ? options.jobs : all_cores();
  SweepTable table;
  {
    Bar bar("sizing " + question.name);
    table = run_sweep(question.sweep, run, [&](const SweepProgress& now) { bar.show(now); });
  }
  for (const SweepRow& row : table.rows)
    if (row.outcome == PointOutcome::failed) throw Error(ErrorCode::environment, row.reason);
  const SizeAnswer answer = answer_of(question, table);
  write_output(options.output, options.json  ? size_json(answer)
                               : options.csv ? size_table(answer).csv()
                                             : size_summary(answer, paint_of(options.output)));
  return answer.likely ? 0 : static_cast<int>(ErrorCode::check_failed);
}

}  // namespace

void add_size(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand(
      "size", "The cheapest cluster, or the least of a field, that refits in time");
  auto options = std::make_shared<SizeOptions>();
  verb->add_option("SIZE", options->file, "Size YAML: a base scenario, and a catalog or a field")
      ->required();
  verb->add_option("--step", options->step, "Time of a step, instead of the file's: \"60 s\"");
  verb->add_option("--below", options->below,
                   "Share of the step that a refit may take, instead of the file's: \"5 %\"");
  verb->add_option("-j,--jobs", options->jobs, "Points at a time; default: all cores")
      ->check(number_from(1, 4096));
  add_csv(*verb, options->csv,
          verb->add_flag("--json", options->json, "Print refit.size/1 instead of tables"));
  verb->add_option("-o,--output", options->output, "Write to a file; - is standard output");
  verb->callback([&action, options] {
    action = [options] {
      require_other_file(options->file, options->output);
      return size(*options);
    };
  });
}

}  // namespace refit
