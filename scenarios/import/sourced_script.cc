#include "scenarios/import/sourced_script.h"

#include <algorithm>
#include <filesystem>

#include "base/text_file.h"

namespace refit {
namespace {

constexpr std::size_t kMostScript = std::size_t{1} << 20;  // bytes

namespace fs = std::filesystem;

// The file in the folder or one above it, as repositories are laid out: under its whole path, or
// under the end of it where it is of another machine.
std::optional<fs::path> find_near(const fs::path& folder, const fs::path& path) {
  constexpr int kHighest = 6;
  const std::vector<fs::path> parts(path.begin(), path.end());
  std::error_code ignored;
  for (std::size_t first = 0; first == 0 || first + 1 < parts.size(); ++first) {
    fs::path end;
    for (std::size_t i = first; i < parts.size(); ++i) end /= parts[i];
    fs::path above = fs::absolute(folder, ignored);
    for (int i = 0; i < kHighest; ++i, above = above.parent_path()) {
      if (fs::is_regular_file(above / end, ignored)) return above / end;
    }
  }
  return std::nullopt;
}

}  // namespace

SourcedText sourced_beside(const std::string& from, std::vector<std::string>& missing) {
  constexpr int kMostScripts = 64;  // or two that read each other would take for ever
  return [from, &missing,
          left = kMostScripts](const std::string& written) mutable -> std::optional<std::string> {
    // The folder of the script is in what the script computes: $(...), ${NAME} or $NAME.
    std::string path = written;
    if (written.find('$') != std::string::npos) {
      const std::size_t close = written.find_last_of(")}");
      const std::size_t end =
          close != std::string::npos ? close + 1 : written.find('/', written.rfind('$'));
      path = written.substr(std::min(end, written.size()));
      path.erase(0, std::min(path.find_first_not_of('/'), path.size()));
    }
    if (!path.empty() && left > 0) {
      --left;
      if (const auto found = find_near(fs::path(from).parent_path(), path))
        return read_text_file(found->string(), kMostScript);
    }
    missing.push_back(written);
    return std::nullopt;
  };
}

}  // namespace refit
