#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <sstream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/shown.h"
#include "base/yaml.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "cli/verbs.h"

namespace refit {
namespace {

constexpr const char* kFooter =
    "Exit status: 0 fine, 1 a check failed, 2 bad input or options, 3 the environment\n"
    "(a file that cannot be read or written, a missing program, no memory).\n"
    "More: refit help, refit COMMAND --help.\n";

int fail(ErrorCode code, const std::string& message) {
  fmt::print(stderr, "{} {}\n", painted("refit:", Mark::alarm, paint_of_errors()),
             shown_message(message));
  return static_cast<int>(code);
}

// CLI11 only says that a subcommand is missing; say which word is none.
void check_command(const CLI::App& app, int argc, const char* const* argv) {
  if (argc < 2 || argv[1][0] == '-') return;
  std::vector<std::string> known;
  for (const CLI::App* command : app.get_subcommands({})) {
    known.push_back(command->get_name());
    if (known.back() != argv[1]) continue;
    if (!command->get_subcommands({}).empty()) check_command(*command, argc - 1, argv + 1);
    return;
  }
  if (known.empty()) return;
  const auto near = nearest_word(argv[1], known);
  throw Error(
      ErrorCode::bad_input,
      fmt::format("'{}' is not a command{}{} use one of {}", argv[1],
                  app.get_parent() == nullptr ? "" : " of refit " + app.get_name(),
                  near ? fmt::format("; did you mean '{}'?", *near) : ";", fmt::join(known, ", ")));
}

int parse_and_run(CLI::App& app, const Action& action, int argc, const char* const* argv) {
  check_command(app, argc, argv);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
      // Help and version arrive as exceptions too; exit() knows which text was asked for.
      std::ostringstream text;
      app.exit(error, text, text);
      print(text.str());
      return 0;
    }
    return fail(ErrorCode::bad_input, fmt::format("{}; see refit --help", error.what()));
  }
  return action();
}

}  // namespace

int run_refit(int argc, const char* const* argv) {
  // A file that grows past a limit is an error like others, and its temporary is removed.
  std::signal(SIGXFSZ, SIG_IGN);
  note_arguments({argv + 1, static_cast<std::size_t>(std::max(argc - 1, 0))});
  try {
    CLI::App app("Plans and predicts how new weights travel from training to generation ranks.",
                 "refit");
    app.set_version_flag("--version", "refit " REFIT_VERSION);
    app.require_subcommand(1);
    app.footer(kFooter);
    Action action;
    add_check(app, action);
    add_plan(app, action);
    add_simulate(app, action);
    add_run(app, action);
    add_compare(app, action);
    add_crossover(app, action);
    add_graph(app, action);
    add_report(app, action);
    add_models(app, action);
    add_clusters(app, action);
    add_size(app, action);
    add_sweep(app, action);
    add_systems(app, action);
    add_validate(app, action);
    add_calibrate(app, action);
    add_import(app, action);
    add_export(app, action);
    add_delta(app, action);
    add_completion(app, action);
    add_help(app, action);
    add_color(app);
    const int code = parse_and_run(app, action, argc, argv);
    flush_output();
    return code;
  } catch (const Error& error) {
    return fail(error.code(), error.what());
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::environment, "out of memory");
  } catch (const std::exception& error) {
    return fail(ErrorCode::environment, error.what());
  }
}

}  // namespace refit
