#include "cli/terminal.h"

#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include <CLI/CLI.hpp>

namespace refit {
namespace {

// Of the whole process, as standard output is.
std::string color = "auto";

bool set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != 0;
}

Paint paint_on(int file) {
  if (color != "auto") return color == "always" ? Paint::on : Paint::off;
  const char* terminal = std::getenv("TERM");
  const bool dumb = terminal == nullptr || std::string_view(terminal) == "dumb";
  return ::isatty(file) == 1 && !dumb && !set("NO_COLOR") ? Paint::on : Paint::off;
}

}  // namespace

void add_color(CLI::App& app) {
  app.add_option("--color", color, "never, auto (default: on a terminal, without NO_COLOR), always")
      ->check(CLI::IsMember({"never", "auto", "always"}));
  for (CLI::App* verb : app.get_subcommands([](CLI::App*) { return true; })) add_color(*verb);
}

Paint paint_of(const std::string& output) {
  return output == "-" ? paint_on(STDOUT_FILENO) : Paint::off;
}

Paint paint_of_errors() { return paint_on(STDERR_FILENO); }

CLI::Option* add_csv(CLI::App& verb, bool& csv, CLI::Option* json) {
  return verb
      .add_flag("--csv", csv,
                "Print the table as CSV: bytes, seconds, bytes per second, shares of 1")
      ->excludes(json);
}

}  // namespace refit
