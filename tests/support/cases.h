#pragma once

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>

namespace refit {

// A folder of files that other people wrote, if this machine has it: below the environment variable
// REFIT_CASES, or beside the source tree. Where it is absent, the test says so, and ctest counts it
// as skipped (SKIP_REGULAR_EXPRESSION of tests with the label `cases`).
inline std::optional<std::string> cases_folder(const std::string& folder) {
  const char* variable = std::getenv("REFIT_CASES");
  const std::filesystem::path root =
      variable ? variable : std::filesystem::path(REFIT_SOURCE) / ".." / "shared" / "cases";
  const std::filesystem::path path = root / folder;
  if (std::filesystem::is_directory(path)) return path.lexically_normal().string();
  std::cout << "skipped: " << path.lexically_normal().string()
            << " is no folder; name one that holds such files with REFIT_CASES\n";
  return std::nullopt;
}

}  // namespace refit
