#include "executor/detail/lab_tool.h"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <vector>

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/error.h"

namespace refit::detail {
namespace {

[[noreturn]] void fail(const std::string& message) {
  throw Error(ErrorCode::environment, "lab: " + message);
}

// A file without a name: takes any amount without a second thread to empty it, unlike a pipe.
class Scratch {
 public:
  explicit Scratch(const std::string& text = "") : fd_(memfd_create("lab", MFD_CLOEXEC)) {
    if (fd_ < 0) fail(fmt::format("memfd_create: {}", std::strerror(errno)));
    for (std::size_t done = 0; done < text.size();) {
      const ssize_t n = write(fd_, text.data() + done, text.size() - done);
      if (n < 0) fail(fmt::format("memfd: {}", std::strerror(errno)));
      done += static_cast<std::size_t>(n);
    }
    lseek(fd_, 0, SEEK_SET);
  }
  ~Scratch() { close(fd_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  int fd() const { return fd_; }
  std::string text() const {
    std::array<char, 4000> bytes{};
    const ssize_t n = pread(fd_, bytes.data(), bytes.size(), 0);
    return {bytes.data(), static_cast<std::size_t>(n < 0 ? 0 : n)};
  }

 private:
  int fd_;
};

// An ordinary user's PATH often lacks the folders that these tools are in.
std::string path_of(const std::string& tool) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(fmt::format("{}:/usr/sbin:/sbin", path == nullptr ? "" : path));
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (folder.empty()) continue;
    const std::string candidate = folder + "/" + tool;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  fail(fmt::format("'{}' is not installed; it is part of the package iproute2", tool));
}

// "Command failed -:3" says where a batch stopped.
std::string failed_line(const std::string& complaint, const std::string& lines) {
  const std::size_t at = complaint.find("Command failed -:");
  if (at == std::string::npos) return "";
  const int number = std::atoi(complaint.c_str() + at + std::strlen("Command failed -:"));
  std::istringstream input(lines);
  std::string line;
  for (int i = 0; i < number; ++i) std::getline(input, line);
  return fmt::format(" at '{}'", line);
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

pid_t spawn(const std::string& path, const std::string& tool, int input, int output, int core) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  posix_spawn_file_actions_adddup2(&actions, core, kCoreFd);
  std::string name = tool, batch = "-batch", from_input = "-";
  std::array<char*, 4> arguments{name.data(), batch.data(), from_input.data(), nullptr};
  std::string locale = "LC_ALL=C";
  std::array<char*, 2> environment{locale.data(), nullptr};
  pid_t pid = 0;
  const int fault =
      posix_spawn(&pid, path.c_str(), &actions, nullptr, arguments.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  if (fault != 0) fail(fmt::format("cannot start {}: {}", path, std::strerror(fault)));
  return pid;
}

}  // namespace

void run_batch(const std::string& tool, const std::string& lines, const NetNamespace& where,
               const NetNamespace& core) {
  if (lines.empty()) return;
  const std::string path = path_of(tool);
  const Scratch input(lines), output;
  int status = 0;
  {
    const NamespaceVisit visit;
    where.enter();
    const pid_t pid = spawn(path, tool, input.fd(), output.fd(), core.fd());
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  const std::string complaint = output.text();
  fail(fmt::format("{}{}: {}", tool, failed_line(complaint, lines),
                   complaint.empty() ? "failed without a word" : first_line(complaint)));
}

}  // namespace refit::detail
