#include "cli/import_kinds.h"

#include <CLI/CLI.hpp>
#include "cli/verbs.h"

namespace refit {
namespace {

// A kind is a verb below `import`, and adds itself as verbs do.
constexpr void (*kKinds[])(CLI::App& import, Action& action) = {
    add_import_cluster,
    add_import_layouts,
    add_import_models,
};

}  // namespace

void add_import(CLI::App& app, Action& action) {
  CLI::App* verb =
      app.add_subcommand("import", "Turn files you have into the files that refit reads");
  verb->require_subcommand(1);
  for (const auto add : kKinds) add(*verb, action);
}

}  // namespace refit
