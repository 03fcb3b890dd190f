#include <cstdio>
#include <memory>
#include <ostream>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/export_kinds.h"
#include "cli/output.h"
#include "report/export/chakra.h"
#include "report/export/goal.h"
#include "report/export/rank_events.h"
#include "report/export/simgrid.h"

namespace refit {
namespace {

std::vector<RankEvents> events_of(const PlannedQuestion& question, const ExportOptions& options) {
  const Moves moves =
      moves_for_export(question.schedule, question.scenario.refit, question.scenario.cluster);
  return rank_events(question.schedule, moves, prediction_of(question, options).timeline);
}

int export_simgrid(const ExportOptions& options) {
  const std::string folder = export_folder(options);
  const auto [scenario, schedule] = planned_question(options);
  const SimgridFiles files =
      simgrid_files(schedule, scenario.cluster, flow_list(schedule, scenario.cluster));
  write_output(folder + "/platform.xml", files.platform);
  write_output(folder + "/comms.csv", files.comms);
  return 0;
}

int export_goal(const ExportOptions& options) {
  const std::string output = options.output.value_or("-");
  require_other_file(options.file, output);
  const std::vector<RankEvents> events = events_of(planned_question(options), options);
  write_output(output, [&](std::ostream& out) { write_goal(out, events); });
  return 0;
}

int export_chakra(const ExportOptions& options) {
  const std::string folder = export_folder(options);
  const PlannedQuestion question = planned_question(options);
  const std::vector<RankEvents> events = events_of(question, options);
  for (std::size_t r = 0; r < events.size(); ++r)
    write_output(fmt::format("{}/refit.{}.et", folder, r),
                 chakra_trace(question.schedule, events[r], Rank(static_cast<std::int64_t>(r))));
  return 0;
}

void add_kind(CLI::App& exports, Action& action, const char* name, const char* help,
              const char* output, bool has_times, int (*write)(const ExportOptions&)) {
  CLI::App* verb = exports.add_subcommand(name, help);
  auto options = std::make_shared<ExportOptions>();
  add_export_options(*verb, *options, output);
  add_export_strategy(*verb, *options);
  if (has_times) add_export_wire(*verb, *options);
  verb->callback(
      [&action, options, write] { action = [options, write] { return write(*options); }; });
}

}  // namespace

void add_export_simgrid(CLI::App& exports, Action& action) {
  add_kind(exports, action, "simgrid",
           "A platform and a list of comms that give the wire-only time with plain SimGrid",
           "Folder for platform.xml and comms.csv", false, export_simgrid);
}

void add_export_goal(CLI::App& exports, Action& action) {
  add_kind(exports, action, "goal", "Messages and work of each rank as GOAL, for LogGOPSim",
           "Write to a file; - (default) is standard output", true, export_goal);
}

void add_export_chakra(CLI::App& exports, Action& action) {
  add_kind(exports, action, "chakra",
           "Messages and work of each rank as Chakra execution traces, for ASTRA-sim",
           "Folder for refit.RANK.et", true, export_chakra);
}

}  // namespace refit
