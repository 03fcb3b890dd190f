#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/error.h"
#include "base/units.h"
#include "base/workers.h"
#include "cli/bar.h"
#include "cli/number_options.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "report/sweep_words.h"
#include "sweep/run_sweep.h"
#include "sweep/sweep_csv.h"

namespace refit {
namespace {

struct SweepOptions {
  std::string file;
  std::optional<std::string> output;
  std::optional<std::string> task;
  std::optional<std::int64_t> show;
  std::vector<std::string> merge;
  int jobs = 0;
  bool resume = false;
  bool json = false;
  bool csv = false;
};

std::int64_t count_of(const SweepTable& table, PointOutcome outcome) {
  std::int64_t count = 0;
  for (const SweepRow& row : table.rows) count += row.outcome == outcome ? 1 : 0;
  return count;
}

// Nothing but one mistake in many places is an error, not a result.
void require_some(const SweepTable& table) {
  if (table.rows.empty() ||
      count_of(table, PointOutcome::infeasible) < static_cast<std::int64_t>(table.rows.size()))
    return;
  throw Error(ErrorCode::bad_input,
              fmt::format("none of {} points is feasible; the first: {}",
                          format_count(static_cast<std::int64_t>(table.rows.size())),
                          table.rows.front().reason));
}

int merge(const SweepOptions& options) {
  SweepTable table = parse_sweep_csv(read_file(options.merge.front()), options.merge.front());
  for (std::size_t i = 1; i < options.merge.size(); ++i)
    merge_into(table, parse_sweep_csv(read_file(options.merge[i]), options.merge[i]),
               options.merge[i]);
  const std::string csv = sweep_csv(table);
  table = parse_sweep_csv(csv, "merged");
  std::int64_t ended =
      static_cast<std::int64_t>(table.rows.size()) - count_of(table, PointOutcome::failed);
  if (ended == table.points) {
    write_output(options.output.value_or("-"), csv);
    return 0;
  }
  std::int64_t first = 0;
  for (const SweepRow& row : table.rows) {
    if (row.point != first || row.outcome == PointOutcome::failed) break;
    ++first;
  }
  throw Error(ErrorCode::check_failed,
              fmt::format("{} of {} points are there, {} is the first that is missing; end the "
                          "other parts with --resume and merge again",
                          format_count(ended), format_count(table.points), first));
}

// A point's scenario, as other verbs read it.
int show(const Sweep& sweep, std::int64_t number) {
  if (number < 0 || number >= sweep.points()) {
    throw Error(ErrorCode::bad_input, fmt::format("--show: {} is no point; they are 0 to {}",
                                                  number, sweep.points() - 1));
  }
  const SweepPoint point = point_of(sweep, number);
  if (!point.scenario) throw Error(ErrorCode::bad_input, point.reason);
  print(fmt::format("# point {} of {}, strategy {}\n{}", number, sweep.path, point.strategy,
                    point.scenario->text()));
  return 0;
}

int sweep(const SweepOptions& options) {
  if (!options.merge.empty()) return merge(options);
  if (options.file.empty())
    throw Error(ErrorCode::bad_input, "SWEEP is required; see refit sweep --help");
  const Sweep sweep = load_sweep(options.file, REFIT_VERSION);
  if (options.show) return show(sweep, *options.show);
  if (options.resume && (!options.output || options.output == "-"))
    throw Error(ErrorCode::bad_input, "--resume: name the file to continue with -o");
  SweepRun run;
  run.workers = options.jobs > 0 ? options.jobs : all_cores();
  run.task = options.task ? parse_task(*options.task)
                          : environment_task([](const char* name) { return std::getenv(name); });
  run.resume = options.resume;
  const bool into_file = options.output && options.output != "-";
  if (into_file) {
    require_other_file(options.file, *options.output);
    run.file = part_path(*options.output, run.task);
  }
  if (run.task.count > 1)
    fmt::print(stderr, "refit: part {} of {} ({}){}\n", run.task.index + 1, run.task.count,
               run.task.said_by, run.file.empty() ? "" : ", into " + run.file);
  SweepTable table;
  {
    Bar bar("sweeping " + sweep.name);
    table = run_sweep(sweep, run, [&](const SweepProgress& now) { bar.show(now); });
  }
  // In the order of the points, in whatever order they ended.
  if (into_file) write_output(run.file, sweep_csv(table));
  if (run.task.count == 1) require_some(table);  // of a part nothing can be said of the whole
  if (options.csv || (options.output == "-" && !options.json)) {
    print(sweep_csv(table));
  } else {
    print(options.json ? sweep_json(sweep.name, table)
                       : sweep_summary(sweep.name, table, paint_of()));
  }
  return count_of(table, PointOutcome::failed) > 0 ? static_cast<int>(ErrorCode::environment) : 0;
}

}  // namespace

void add_sweep(CLI::App& app, Action& action) {
  CLI::App* verb =
      app.add_subcommand("sweep", "Predict a scenario with fields varied over lists and ranges");
  auto options = std::make_shared<SweepOptions>();
  CLI::Option* file =
      verb->add_option("SWEEP", options->file, "Sweep YAML: a base scenario and what varies");
  verb->add_option("-o,--output", options->output,
                   "CSV that each point is appended to as it ends; part K of N goes into\n"
                   "NAME.K-of-N.csv; - prints it at the end");
  verb->add_flag("--resume", options->resume, "Continue the file of a run that was stopped");
  verb->add_option("-j,--jobs", options->jobs, "Points at a time; default: all cores")
      ->check(number_from(1, 4096));
  verb->add_option("--task", options->task,
                   "K/N: only part K of N; default: what a Slurm array, srun or mpirun says");
  add_csv(*verb, options->csv,
          verb->add_flag("--json", options->json, "Print refit.sweep/1 instead of tables"));
  CLI::Option* show = verb->add_option("--show", options->show, "Print this point's scenario, only")
                          ->check(number_from<std::int64_t>(0, kMostPoints));
  verb->add_option("--merge", options->merge, "CSV files of the parts, to be put together into -o")
      ->excludes(file)
      ->excludes(show);
  verb->callback([&action, options] { action = [options] { return sweep(*options); }; });
}

}  // namespace refit
