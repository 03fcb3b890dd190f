#include "cli/output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "base/shown.h"
#include "base/text_file.h"

namespace refit {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& path, const std::string& what, int error) {
  throw Error(ErrorCode::environment, fmt::format("{}: {}{}{}", path, what, error == 0 ? "" : ": ",
                                                  error == 0 ? "" : std::strerror(error)));
}

void write_stream(const std::string& path, const std::string& shown,
                  const std::function<void(std::ostream&)>& write) {
  errno = 0;
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  if (!out) fail(shown, "cannot be written", errno);
  write(out);
  out.close();
  if (!out) fail(shown, "cannot be written", errno);
}

// The temporary file there is, for the signal handler: only calls that are safe there.
char unfinished[4096];

void remove_unfinished(int signal) {
  if (unfinished[0] != 0) ::unlink(unfinished);
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

// Whoever stops the command finds no half-written file.
void guard_unfinished(const std::string& path) {
  if (path.size() >= sizeof unfinished) return;
  std::memcpy(unfinished, path.c_str(), path.size() + 1);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    // What the caller has the command ignore (nohup) stays ignored.
    if (::signal(signal, remove_unfinished) == SIG_IGN) ::signal(signal, SIG_IGN);
  }
}

// A file of a new name, removed unless it was renamed.
class TemporaryFile {
 public:
  TemporaryFile(const fs::path& beside, const std::string& shown) {
    std::string name = beside.string() + ".XXXXXX";
    const int file = ::mkstemp(name.data());
    if (file < 0) fail(shown, "cannot be written", errno);
    path_ = name;
    guard_unfinished(path_);
    // mkstemp makes a private file; the result gets the rights a plain new file would have.
    const mode_t mask = ::umask(0);
    ::umask(mask);
    ::fchmod(file, 0666 & ~mask);
    ::close(file);
  }
  ~TemporaryFile() {
    if (!path_.empty()) ::unlink(path_.c_str());
    unfinished[0] = 0;
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const std::string& path() const { return path_; }

  void rename_to(const fs::path& target, const std::string& shown) {
    if (::rename(path_.c_str(), target.c_str()) != 0) fail(shown, "cannot be written", errno);
    path_.clear();
  }

 private:
  std::string path_;
};

}  // namespace

void print(std::string_view text) {
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) {
    fail("standard output", "cannot be written", errno);
  }
}

void flush_output() {
  errno = 0;
  if (std::fflush(stdout) != 0 || !std::cout.flush()) {
    fail("standard output", "cannot be written", errno);
  }
}

std::string read_file(const std::string& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) fail(path, "is a folder, not a file", 0);
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in) fail(path, "cannot be read", errno);
  constexpr std::size_t kMostBytes = std::size_t{1} << 30;
  std::string text;
  std::vector<char> block(1 << 20);
  while (in.read(block.data(), static_cast<std::streamsize>(block.size())), in.gcount() > 0) {
    text.append(block.data(), static_cast<std::size_t>(in.gcount()));
    if (text.size() > kMostBytes) fail(path, "is larger than 1 GiB, or endless", 0);
  }
  if (in.bad()) fail(path, "cannot be read", errno);
  note_read(path);
  return text;
}

namespace {

// What stands in the command line. A file that is named there twice is read and written.
std::vector<std::string>& arguments() {
  static std::vector<std::string> all;
  return all;
}

bool is_named_twice(const std::string& output) {
  int times = 0;
  for (const std::string& argument : arguments()) {
    std::error_code ignored;
    const std::string value = argument.substr(argument.find('=') + 1);
    if (fs::equivalent(argument, output, ignored) ||
        (value != argument && fs::equivalent(value, output, ignored))) {
      ++times;
    }
  }
  return times > 1;
}

[[noreturn]] void refuse_overwriting(const std::string& output) {
  throw Error(ErrorCode::bad_input,
              fmt::format("-o {}: would overwrite the input; name another file", output));
}

}  // namespace

void note_arguments(std::span<const char* const> words) {
  arguments().assign(words.begin(), words.end());
}

void print_note(const std::string& text) {
  fmt::print(stderr, "refit: note: {}\n", shown_message(text));
}

void require_other_file(const std::string& input, const std::string& output) {
  if (output == "-" || output.empty()) return;
  std::error_code ignored;
  if (!fs::is_regular_file(output, ignored)) return;
  if (fs::equivalent(input, output, ignored) || is_named_twice(output) || was_read(output))
    refuse_overwriting(output);
}

void write_output(const std::string& path, const std::function<void(std::ostream&)>& write) {
  if (path == "-") {
    errno = 0;
    write(std::cout);
    if (!std::cout.flush()) fail("standard output", "cannot be written", errno);
    return;
  }
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  if (fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status)) {
    write_stream(path, path, write);
    return;
  }
  write_whole_file(path,
                   [&](const std::string& temporary) { write_stream(temporary, path, write); });
}

void write_whole_file(const std::string& path,
                      const std::function<void(const std::string&)>& write) {
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  if (fs::is_directory(status)) fail(path, "is a folder; name a file", 0);
  if (fs::exists(status) && !fs::is_regular_file(status))
    fail(path, "is no plain file; name one", 0);
  if (fs::exists(status) && (is_named_twice(path) || was_read(path))) refuse_overwriting(path);
  // Through a link the file it points to is replaced, not the link.
  const fs::path target = fs::exists(status) ? fs::canonical(path) : fs::path(path);
  TemporaryFile temporary(target, path);
  write(temporary.path());
  temporary.rename_to(target, path);
}

void write_output(const std::string& path, std::string_view text) {
  write_output(path, [&](std::ostream& out) {
    out.write(text.data(), static_cast<std::streamsize>(text.size()));
  });
}

}  // namespace refit
