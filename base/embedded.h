#pragma once

#include <span>
#include <string_view>

namespace refit {

// A data file compiled into the program (cmake/Modules.cmake, refit_embed), so that the command
// works wherever it is installed.
struct EmbeddedFile {
  std::string_view name;  // without folder and suffix
  std::string_view text;
};

}  // namespace refit
