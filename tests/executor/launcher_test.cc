#include <csignal>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "executor/detail/socket.h"
#include "tests/cli/program.h"
#include "tests/executor/two_pairs.h"

namespace refit::test {
namespace {

// What a shell command prints and returns; -9 if a signal ended it.
Outcome shell(const Folder& folder, const std::string& command) {
  const std::string out = folder / "out", err = folder / "err";
  const int status = std::system(fmt::format("({}) > {} 2> {}", command, out, err).c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), text_of(out), text_of(err)};
}

// Open MPI's `mpirun` with what it takes to run more ranks than cores, as root, too.
std::optional<std::string> mpirun(const Folder& folder) {
  const Outcome version = shell(folder, "mpirun --version");
  if (version.code != 0 || !has(version.out, "Open MPI")) {
    WARN("skipped: there is no mpirun of Open MPI; apt-get install openmpi-bin");
    return std::nullopt;
  }
  return "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun --oversubscribe";
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

// A rank that is rank 2 does something of its own.
std::string as_rank_two(const std::string& variable, const std::string& what,
                        const std::string& command) {
  return fmt::format("sh -c 'f=$0; if [ \"${}\" = 2 ]; then {}; fi; exec {}'", variable, what,
                     command);
}

// Which runtime of a sanitizer a program calls when it starts. The names of what it takes from
// libraries stand in an executable's first megabytes.
std::string sanitizer_of(const std::string& program) {
  std::string bytes(4 << 20, '\0');
  std::ifstream(program, std::ios::binary).read(bytes.data(), 4 << 20);
  for (const char* start : {"__asan_init", "__tsan_init"})
    if (has(bytes, start)) return start;
  return "none";
}

}  // namespace

TEST_CASE("launcher: the program that is launched is built as this test is",
          "[executor][tcp][launcher]") {
  // A thread sanitizer's build once launched ranks without a sanitizer, and they could find
  // nothing.
#if defined(__SANITIZE_ADDRESS__)
  REQUIRE(sanitizer_of(REFIT_PROGRAM) == "__asan_init");
#elif defined(__SANITIZE_THREAD__)
  REQUIRE(sanitizer_of(REFIT_PROGRAM) == "__tsan_init");
#else
  REQUIRE(sanitizer_of(REFIT_PROGRAM) == "none");
#endif
}

TEST_CASE("mpirun: ranks find each other, and rank 0 alone reports", "[executor][tcp][launcher]") {
  const Folder folder;
  const auto launcher = mpirun(folder);
  if (!launcher) return;
  const std::string scenario = folder.write("scenario.yaml", kTwoPairs);
  const Outcome o = shell(folder, fmt::format("{} -n 4 {} run {} --transport tcp -n 2", *launcher,
                                              REFIT_PROGRAM, scenario));
  CAPTURE(o.out, o.err);
  REQUIRE(o.code == 0);
  REQUIRE(o.err.empty());
  REQUIRE(count(o.out, "wrong bytes, warm-up included: 0") == 1);
}

TEST_CASE("mpirun: what is wrong with a job is said once, with the exit status of the command",
          "[executor][tcp][launcher]") {
  const Folder folder;
  const auto launcher = mpirun(folder);
  if (!launcher) return;
  const std::string scenario = folder.write("scenario.yaml", kTwoPairs);
  const std::string run = fmt::format("{} run $f --transport tcp -n 2", REFIT_PROGRAM);

  SECTION("a job of another size than the plan") {
    const Outcome o = shell(folder, fmt::format("{} -n 3 {} run {} --transport tcp", *launcher,
                                                REFIT_PROGRAM, scenario));
    CAPTURE(o.err);
    REQUIRE(o.code == 2);
    REQUIRE(has(o.err, "refit: started by Open MPI as 3 ranks; the schedule needs 4"));
    REQUIRE(count(o.err, "refit: ") == 1);
  }
  SECTION("a file that no rank can read") {
    const Outcome o = shell(folder, fmt::format("{} -n 4 {} run {}.no --transport tcp", *launcher,
                                                REFIT_PROGRAM, scenario));
    CAPTURE(o.err);
    REQUIRE(o.code == 3);
    REQUIRE(has(o.err, fmt::format("refit: {}.no: cannot be read", scenario)));
    REQUIRE(count(o.err, "refit: ") == 1);
  }
  SECTION("a file that one rank cannot read") {
    const Outcome o =
        shell(folder, fmt::format("{} -n 4 {} {}", *launcher,
                                  as_rank_two("OMPI_COMM_WORLD_RANK", "f=$f.no", run), scenario));
    CAPTURE(o.err);
    REQUIRE(o.code == 3);
    REQUIRE(has(o.err, fmt::format("refit: rank 2, starting: {}.no: cannot be read", scenario)));
    REQUIRE(count(o.err, "refit: ") == 1);
  }
}

TEST_CASE("mpirun: a rank that dies or stops ends the job, and is named",
          "[executor][tcp][launcher]") {
  const Folder folder;
  const auto launcher = mpirun(folder);
  if (!launcher) return;
  const std::string scenario = folder.write("scenario.yaml", kTwoPairs);
  const std::string signal = GENERATE("KILL", "STOP");
  CAPTURE(signal);
  // Far more than it has time for.
  const std::string run = fmt::format("{} run $f --transport tcp -n 100000 -c 0", REFIT_PROGRAM);
  // Once it has its control connection, the two ends of a pair and connections to peers.
  const std::string blow = fmt::format(
      "(while [ -d /proc/$$ ] && [ $(ls -l /proc/$$/fd | grep -c socket) -lt 4 ]; do sleep 0.1; "
      "done; sleep 0.3; kill -{} $$) & true",
      signal);
  const Outcome o =
      shell(folder, fmt::format("{} -n 4 {} {}", *launcher,
                                as_rank_two("OMPI_COMM_WORLD_RANK", blow, run), scenario));
  CAPTURE(o.err);
  REQUIRE(o.code != 0);
  REQUIRE(o.out.empty());
  // mpirun, too, sees a process die, and may be the first to say so.
  const bool by_us = has(o.err, "refit: rank 2, ");
  const bool by_mpirun = signal == "KILL" && has(o.err, "process rank 2");
  REQUIRE((by_us || by_mpirun));
}

TEST_CASE("torchrun: its environment is enough, beside its own store on the same port",
          "[executor][tcp][launcher]") {
  const Folder folder;
  const std::string scenario = folder.write("scenario.yaml", kTwoPairs);
  // The agent's store listens on MASTER_PORT. Two ports in a row, both free just now.
  const detail::Descriptor store = detail::listen_on("127.0.0.1", 0, {});
  std::vector<pid_t> pids;
  for (int r = 3; r >= 0; --r) {
    const pid_t pid = fork();
    if (pid == 0) {
      const auto set = [](const char* name, const std::string& value) {
        setenv(name, value.c_str(), 1);
      };
      set("RANK", std::to_string(r));
      set("LOCAL_RANK", std::to_string(r));
      set("WORLD_SIZE", "4");
      set("LOCAL_WORLD_SIZE", "4");
      set("MASTER_ADDR", "127.0.0.1");
      set("MASTER_PORT", std::to_string(detail::port_of(store)));
      set("TORCHELASTIC_USE_AGENT_STORE", "True");
      set("TORCHELASTIC_RUN_ID", "none");
      const Outcome o = shell(folder, fmt::format("{} run {} --transport tcp -n 2 > {}.{}",
                                                  REFIT_PROGRAM, scenario, folder / "report", r));
      _exit(o.code);
    }
    pids.push_back(pid);
  }
  for (const pid_t pid : pids) {
    int status = 0;
    REQUIRE(waitpid(pid, &status, 0) == pid);
    CHECK(status == 0);
  }
  REQUIRE(has(text_of(folder / "report.0"), "wrong bytes, warm-up included: 0"));
  for (const char* quiet : {"report.1", "report.2", "report.3"})
    REQUIRE(text_of(folder / quiet).empty());
}

}  // namespace refit::test
