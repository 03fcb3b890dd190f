#include "base/text_file.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <system_error>

#include <fmt/format.h>

#include "base/error.h"

namespace refit {
namespace {

struct ReadFiles {
  std::mutex mutex;
  std::set<std::string> paths;
};

// Never destroyed: threads may still read while the process ends.
ReadFiles& read_files() {
  static auto* files = new ReadFiles;
  return *files;
}

}  // namespace

void note_read(const std::string& path) {
  const std::lock_guard lock(read_files().mutex);
  read_files().paths.insert(path);
}

bool was_read(const std::string& path) {
  const std::lock_guard lock(read_files().mutex);
  std::error_code ignored;  // what is not there was not read
  return std::ranges::any_of(read_files().paths, [&](const std::string& one) {
    return std::filesystem::equivalent(one, path, ignored);
  });
}

std::string read_text_file(const std::string& path, std::size_t most_bytes) {
  std::error_code ignored;  // a path that can't be looked at can't be opened either
  if (std::filesystem::is_directory(path, ignored)) {
    throw Error(ErrorCode::environment, fmt::format("{}: is a folder; name a file", path));
  }
  const auto fail = [&path] {
    throw Error(ErrorCode::environment,
                fmt::format("{}: can't be read: {}", path, std::generic_category().message(errno)));
  };

  std::ifstream file(path, std::ios::binary);
  if (!file) fail();
  std::string text;
  const std::uintmax_t size = std::filesystem::file_size(path, ignored);  // none of a pipe
  if (!ignored) text.reserve(std::min<std::uintmax_t>(size, most_bytes) + 1);
  char block[1 << 16];
  while (file && text.size() <= most_bytes) {
    const std::size_t wanted = std::min(sizeof block, most_bytes + 1 - text.size());
    file.read(block, static_cast<std::streamsize>(wanted));
    text.append(block, static_cast<std::size_t>(file.gcount()));
  }
  if (file.bad()) fail();
  note_read(path);
  return text;
}

}  // namespace refit
