#include <memory>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "cli/export_kinds.h"
#include "cli/output.h"
#include "report/export/rank_events.h"
#include "report/export/tables.h"

namespace refit {
namespace {

struct TableOptions {
  ExportOptions common;
  std::optional<std::string> table;
};

constexpr const char* kTables[] = {"rank", "link", "tensor"};

class Tables {
 public:
  explicit Tables(const ExportOptions& options)
      : question_(planned_question(options)), prediction_(prediction_of(question_, options)) {}

  std::string text(const std::string& table) {
    const auto& [scenario, schedule] = question_;
    if (table == "link")
      return link_table(flow_list(schedule, scenario.cluster), scenario.cluster, prediction_);
    if (!moves_) moves_ = moves_for_export(schedule, scenario.refit, scenario.cluster);
    if (table == "rank")
      return rank_table(schedule, scenario.refit, scenario.cluster, *moves_, prediction_);
    return tensor_table(schedule, scenario.refit, *moves_, prediction_);
  }

 private:
  PlannedQuestion question_;
  Prediction prediction_;
  std::optional<Moves> moves_;
};

int export_tables(const TableOptions& options) {
  if (options.table) {
    require_other_file(options.common.file, options.common.output.value_or("-"));
    write_output(options.common.output.value_or("-"), Tables(options.common).text(*options.table));
    return 0;
  }
  const std::string folder = export_folder(options.common);
  Tables tables(options.common);
  for (const char* table : kTables)
    write_output(folder + "/" + table + "s.csv", tables.text(table));
  return 0;
}

}  // namespace

void add_export_csv(CLI::App& exports, Action& action) {
  CLI::App* verb = exports.add_subcommand(
      "csv", "What each rank, link and tensor class carries, and how long, as CSV tables");
  auto options = std::make_shared<TableOptions>();
  add_export_options(*verb, options->common,
                     "Folder for ranks.csv, links.csv and tensors.csv; with --table a file");
  add_export_strategy(*verb, options->common);
  add_export_wire(*verb, options->common);
  verb->add_option("--table", options->table, "Only this one: rank, link or tensor")
      ->check(CLI::IsMember({"rank", "link", "tensor"}));
  verb->callback([&action, options] { action = [options] { return export_tables(*options); }; });
}

}  // namespace refit
