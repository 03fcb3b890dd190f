#pragma once

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

namespace refit {

inline std::string text_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// A folder of its own for one test, removed at its end.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "refit-test-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
    return *this / name;
  }

  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path_), {}));
  }

 private:
  std::filesystem::path path_;
};

struct Outcome {
  int code = -1;
  std::string out;
  std::string err;
};

// Runs a program. `environment`: "NAME=value" texts, replacing all variables if not empty.
inline Outcome run_program(const std::string& program, const std::vector<std::string>& arguments,
                           const std::vector<std::string>& environment = {},
                           const std::string& standard_output = {}) {
  const Folder folder;
  std::vector<char*> argv{const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  std::vector<char*> envp;
  for (const std::string& variable : environment) {
    envp.push_back(const_cast<char*>(variable.c_str()));
  }
  envp.push_back(nullptr);
  const std::string out = standard_output.empty() ? folder / "out" : standard_output;
  const std::string err = folder / "err";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const int flags = O_WRONLY | O_CREAT | O_TRUNC;
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out.c_str(), flags, 0600);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err.c_str(), flags, 0600);
  pid_t process = 0;
  const int error = ::posix_spawn(&process, program.c_str(), &actions, nullptr, argv.data(),
                                  environment.empty() ? environ : envp.data());
  posix_spawn_file_actions_destroy(&actions);
  REQUIRE(error == 0);
  int status = 0;
  REQUIRE(::waitpid(process, &status, 0) == process);
  REQUIRE(WIFEXITED(status));
  return {WEXITSTATUS(status), standard_output.empty() ? text_of(out) : "", text_of(err)};
}

// The real one.
inline Outcome refit_program(const std::vector<std::string>& arguments,
                             const std::vector<std::string>& environment = {},
                             const std::string& standard_output = {}) {
  return run_program(REFIT_PROGRAM, arguments, environment, standard_output);
}

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Two source nodes of two GPUs hold a 64 MB tensor twice, cut in two; of two destination nodes the
// GPUs of the first both want the first half, those of the second both the second: 32 MB per GPU,
// 128 MB of payload. Sent to each GPU that is 2.00 copies over the network, once per NVLink domain
// 1.00. NICs of 10 GB/s, one per GPU.
inline const char* const kScenario = R"(scenario: four_pairs
assumptions: [NICs reach line rate]
cluster:
  name: pair
  nodes: 4
  gpus_per_node: 2
  nvlink_domain_gpus: 2
  nvlink_bandwidth: 100 GB/s
  nvlink_latency: 2 us
  nics_per_node: 2
  nic_bandwidth: 80 Gbit/s
  nic_latency: 5 us
  gpu_memory: 80 GB
tensors:
  - name: w
    shape: [8000, 8000]
    dtype: u8
    source: {ranks: 0..3, mesh: {rep: 2, shard: 2}, placements: [replicate, shard(0)]}
    destination: {ranks: 4..7, mesh: {shard: 2, rep: 2}, placements: [shard(0), replicate]}
)";

}  // namespace refit
