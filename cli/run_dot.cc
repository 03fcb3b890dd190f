#include "cli/run_dot.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include <fmt/format.h>

#include "base/error.h"

extern char** environ;

namespace refit {
namespace {

using TemporaryFile = std::unique_ptr<FILE, int (*)(FILE*)>;

[[noreturn]] void fail(const std::string& path, const std::string& message) {
  throw Error(ErrorCode::environment, fmt::format("{}: {}", path, message));
}

// A nameless file: input and output of the program, so that neither side can wait for the other.
TemporaryFile temporary(const std::string& path) {
  TemporaryFile file(std::tmpfile(), std::fclose);
  if (!file) fail(path, fmt::format("no temporary file: {}", std::strerror(errno)));
  return file;
}

int run(const char* const* arguments, FILE* in, FILE* out, const std::string& path) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, fileno(in), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fileno(out), STDOUT_FILENO);
  pid_t process = 0;
  // No shell: the arguments are ours and reach the program as they are.
  const int error = posix_spawnp(&process, arguments[0], &actions, nullptr,
                                 const_cast<char* const*>(arguments), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    fail(path, fmt::format("SVG needs the program '{}' of Graphviz ({}); install it, or write a "
                           ".dot file",
                           arguments[0], std::strerror(error)));
  }
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace

std::string svg_of(const std::string& graph, const std::string& path) {
  const TemporaryFile in = temporary(path);
  const TemporaryFile out = temporary(path);
  if (std::fwrite(graph.data(), 1, graph.size(), in.get()) != graph.size() ||
      std::fflush(in.get()) != 0) {
    fail(path, fmt::format("no temporary file: {}", std::strerror(errno)));
  }
  std::rewind(in.get());
  const char* const arguments[] = {"dot", "-Tsvg", nullptr};
  if (run(arguments, in.get(), out.get(), path) != 0) fail(path, "the program 'dot' failed");
  std::rewind(out.get());
  std::string svg;
  char buffer[1 << 14];
  while (const std::size_t count = std::fread(buffer, 1, sizeof buffer, out.get())) {
    svg.append(buffer, count);
  }
  return svg;
}

}  // namespace refit
