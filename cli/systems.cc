#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/output.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "planner/systems.h"
#include "report/table.h"

namespace refit {
namespace {

// nemo_rl_packed  (calibrated)
//   NeMo RL: gather, packed broadcast, load
//   its timer: the whole refit
std::string systems_text() {
  std::string text;
  for (const System& system : systems()) {
    text += fmt::format("{}  ({})\n  {}\n  its timer: {}\n", system.name,
                        system.calibrated ? "calibrated" : "no published time in the fit",
                        system.does, system.includes);
  }
  return text;
}

Table systems_table() {
  Table table({{"name"}, {"does"}, {"its timer", Align::left, "timer"}, {"calibrated"}});
  for (const System& system : systems()) {
    table.add_row({std::string(system.name), std::string(system.does), std::string(system.includes),
                   number_cell(system.calibrated)});
  }
  return table;
}

struct SystemsOptions {
  bool json = false;
  bool csv = false;
};

}  // namespace

void add_systems(CLI::App& app, Action& action) {
  CLI::App* verb =
      app.add_subcommand("systems", "List the presets: ways to refit of other systems");
  auto options = std::make_shared<SystemsOptions>();
  add_csv(*verb, options->csv,
          verb->add_flag("--json", options->json, "Print refit.systems/1 instead of text"));
  verb->callback([&action, options] {
    action = [options] {
      print(options->json  ? systems_table().json("refit.systems/1")
            : options->csv ? systems_table().csv()
                           : systems_text());
      return 0;
    };
  });
}

}  // namespace refit
