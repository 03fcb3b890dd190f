#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include <unistd.h>

#include <fmt/format.h>

#include "base/error.h"
#include "cli/gpu_runner.h"

namespace refit {
namespace {

constexpr const char* kProgram = "refit_gpu";

// What this process was started with.
std::vector<std::string> command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\0', at);
    words.push_back(text.substr(at, end - at));
    if (end == std::string::npos) break;
    at = end + 1;
  }
  return words;
}

// The same command by the program that can. Returns only if that is not there.
void hand_over(const std::filesystem::path& program) {
  std::vector<std::string> words = command_line();
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execv(program.c_str(), arguments.data());
}

}  // namespace

std::optional<Runner> gpu_runner(const std::string& transport) {
  if (transport != "cuda" && transport != "nccl") return std::nullopt;
  std::error_code no_error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", no_error);
  const auto program = self.parent_path() / kProgram;
  hand_over(program);
  const int error = errno;
  throw Error(
      ErrorCode::environment,
      fmt::format("--transport {}: needs the program {} beside this one ({}: {}); it is built "
                  "where the CUDA toolkit and NCCL are found (cmake -DREFIT_CUDA=ON says "
                  "what is missing)",
                  transport, kProgram, program.string(), std::strerror(error)));
}

}  // namespace refit
