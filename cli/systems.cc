#include <string>

#include <fmt/format.h>

#include "cli/output.h"
#include "cli/verbs.h"
#include "planner/systems.h"

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

}  // namespace

void add_systems(CLI::App& app, Action& action) {
  CLI::App* verb =
      app.add_subcommand("systems", "List the presets: ways to refit of other systems");
  verb->callback([&action] {
    action = [] {
      print(systems_text());
      return 0;
    };
  });
}

}  // namespace refit
