#pragma once

#include <string>

#include "cli/cli11_fwd.h"

namespace refit {

// refit(1) in man's macros: every verb and option of the command as it is.
std::string man_page(const CLI::App& app, const std::string& version);

}  // namespace refit
