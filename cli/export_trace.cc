#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/error.h"
#include "cli/export_kinds.h"
#include "cli/measured_plan.h"
#include "cli/output.h"
#include "report/export/trace.h"
#include "report/op_times.h"

namespace refit {
namespace {

struct TraceOptions {
  ExportOptions common;
  std::optional<std::string> measured;
  std::optional<std::string> ranks;
};

void write(const TraceOptions& options, const Scenario& scenario, const Schedule& schedule,
           const std::vector<TraceTimes>& times) {
  std::vector<const Timeline*> timelines;
  for (const TraceTimes& time : times) timelines.push_back(time.timeline);
  const TracedRanks ranks = options.ranks ? parse_traced_ranks(*options.ranks, schedule.ranks)
                                          : default_traced_ranks(schedule, timelines);
  if (ranks.left_out > 0 && !options.ranks)
    fmt::print(stderr,
               "refit: {} of {} ranks are shown or alike to one that is; --ranks 0-7,32 "
               "chooses others\n",
               schedule.ranks - ranks.left_out, schedule.ranks);
  write_output(options.common.output.value_or("-"), [&](std::ostream& out) {
    write_trace(out, schedule, scenario.cluster, ranks, times,
                fmt::format("{}, {}", scenario.name, schedule.strategy));
  });
}

int export_trace(const TraceOptions& options) {
  if (!options.measured) {
    const PlannedQuestion question = planned_question(options.common);
    const Prediction prediction = prediction_of(question, options.common);
    write(options, question.scenario, question.schedule, {{"", &prediction.timeline}});
    return 0;
  }
  if (options.common.strategy || options.common.wire)
    throw Error(ErrorCode::bad_input,
                fmt::format("--measured: the plan that was run has its strategy, and is predicted "
                            "by links alone; leave out {}",
                            options.common.strategy ? "--strategy" : "--wire-only"));
  const MeasuredPlan measured =
      load_measured_plan(options.common.file, *options.measured, "export trace --measured");
  const Timeline flow = flow_times(measured.run.schedule, measured.report.measurement.timeline);
  write(options, measured.run.scenario, measured.run.schedule,
        {{"predicted", &measured.prediction.timeline}, {"measured", &flow}});
  return 0;
}

}  // namespace

void add_export_trace(CLI::App& exports, Action& action) {
  CLI::App* verb = exports.add_subcommand(
      "trace", "When each op runs, for Perfetto and chrome://tracing (Trace Event JSON)");
  auto options = std::make_shared<TraceOptions>();
  add_export_options(*verb, options->common, "Write to a file; - (default) is standard output");
  add_export_strategy(*verb, options->common);
  add_export_wire(*verb, options->common);
  verb->add_option("--measured", options->measured,
                   "A run of the plan, from refit run --json -o: both beside each other");
  verb->add_option("--ranks", options->ranks,
                   "Ranks to show, as in 0-7,32; default: all up to 64, else one of each class of\n"
                   "ranks that do the same, up to 64 classes");
  verb->callback([&action, options] {
    action = [options] {
      require_other_file(options->common.file, options->common.output.value_or("-"));
      return export_trace(*options);
    };
  });
}

}  // namespace refit
