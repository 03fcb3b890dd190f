#pragma once

#include <string>

#include "cli/cli11_fwd.h"
#include "report/paint.h"

namespace refit {

// --color never|auto|always, of the command and of every verb it has. To be called when all are
// there.
void add_color(CLI::App& app);

// How text for a file (-: standard output) or for standard error is written. `auto` paints on a
// terminal unless it is a dumb one or NO_COLOR is set and not empty (no-color.org).
Paint paint_of(const std::string& output = "-");
Paint paint_of_errors();

// --csv, which prints the verb's table as Table::csv() has it.
CLI::Option* add_csv(CLI::App& verb, bool& csv, CLI::Option* json);

}  // namespace refit
