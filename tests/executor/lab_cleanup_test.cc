#include "executor/lab.h"

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "executor/detail/lab_namespace.h"
#include "tests/executor/lab_case.h"

namespace refit::test {
namespace {

namespace fs = std::filesystem;

// What a lab is made of, told to the test through shared memory so that it outlives the lab.
struct Trace {
  std::array<ino_t, 64> namespaces{};
  std::atomic<int> count = 0;
  std::atomic<bool> ready = false;
};

class SharedTrace {
 public:
  SharedTrace()
      : trace_(new (mmap(nullptr, sizeof(Trace), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                         -1, 0)) Trace) {}
  ~SharedTrace() { munmap(trace_, sizeof(Trace)); }
  SharedTrace(const SharedTrace&) = delete;
  SharedTrace& operator=(const SharedTrace&) = delete;
  Trace* operator->() const { return trace_; }
  Trace& operator*() const { return *trace_; }

 private:
  Trace* trace_;
};

void note(Trace& trace, const char* of) {
  struct stat status {};
  if (stat(of, &status) == 0)
    trace.namespaces.at(static_cast<std::size_t>(trace.count++)) = status.st_ino;
}

// Notes the namespaces of all ranks and leaves a process in each.
void inhabit(Lab& lab, int ranks, Trace& trace) {
  note(trace, "/proc/self/ns/pid");
  note(trace, "/proc/self/ns/net");
  for (int r = 0; r < ranks; ++r) {
    {
      const detail::NamespaceVisit visit;
      lab.enter(Rank(r));
      note(trace, "/proc/thread-self/ns/net");
    }
    if (fork() == 0) {
      lab.enter(Rank(r));
      while (true) pause();
    }
  }
  trace.ready = true;
}

// Processes that are in one of the namespaces or hold one open: "pid 12 ns/net".
std::vector<std::string> left_behind(const Trace& trace) {
  const std::set<ino_t> mine(trace.namespaces.begin(), trace.namespaces.begin() + trace.count);
  std::vector<std::string> found;
  const auto look = [&](const fs::path& path) {
    struct stat status {};
    if (stat(path.c_str(), &status) == 0 && mine.contains(status.st_ino)) {
      std::error_code fault;
      const std::string target = fs::read_symlink(path, fault).string();
      if (target.starts_with("net:[") || target.starts_with("pid:[")) found.push_back(path);
    }
  };
  std::error_code fault;
  for (const auto& process : fs::directory_iterator("/proc", fault)) {
    if (!std::isdigit(process.path().filename().c_str()[0])) continue;
    look(process.path() / "ns/net");
    look(process.path() / "ns/pid");
    std::error_code gone;
    for (fs::directory_iterator file(process.path() / "fd", gone), end; !gone && file != end;
         file.increment(gone))
      look(file->path());
  }
  return found;
}

// Killed processes need a moment to go; ones that stay are a fault however long we wait.
template <class Condition>
bool soon(Condition condition) {
  for (int i = 0; i < 2000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

pid_t child_of(pid_t parent) {
  for (const auto& process : fs::directory_iterator("/proc")) {
    if (!std::isdigit(process.path().filename().c_str()[0])) continue;
    std::ifstream file(process.path() / "stat");
    std::string text;
    std::getline(file, text);
    const std::size_t after_name = text.rfind(')');
    if (after_name == std::string::npos) continue;
    std::istringstream rest(text.substr(after_name + 1));
    char state = 0;
    pid_t its_parent = 0;
    rest >> state >> its_parent;
    if (its_parent == parent) return std::atoi(process.path().filename().c_str());
  }
  return 0;
}

LabOptions unproved() {
  LabOptions options;
  options.prove = false;
  return options;
}

}  // namespace

TEST_CASE("lab: nothing is left of it after a normal end or an error", "[lab]") {
  if (lab_is_refused()) return;
  const Cluster cluster = lab_cluster();
  const SharedTrace trace;

  SECTION("normal end, with processes still inside") {
    REQUIRE(run_in_lab(cluster, unproved(), [&](Lab& lab) {
              inhabit(lab, cluster.gpus(), *trace);
              // While it stands the test can see it: as many namespaces, each with a process in it.
              return std::to_string(left_behind(*trace).size() >= 10);
            }) == "1");
  }
  SECTION("error of ours, which comes out as it is") {
    try {
      run_in_lab(cluster, unproved(), [&](Lab& lab) -> std::string {
        inhabit(lab, cluster.gpus(), *trace);
        throw Error(ErrorCode::check_failed, "rank 3: 7 wrong bytes");
      });
      FAIL("no error");
    } catch (const Error& error) {
      REQUIRE(error.code() == ErrorCode::check_failed);
      REQUIRE(std::string(error.what()) == "rank 3: 7 wrong bytes");
    }
  }
  SECTION("other exception") {
    REQUIRE_THROWS_WITH(run_in_lab(cluster, unproved(),
                                   [&](Lab& lab) -> std::string {
                                     inhabit(lab, cluster.gpus(), *trace);
                                     throw std::runtime_error("out of luck");
                                   }),
                        "lab: out of luck");
  }
  SECTION("crash") {
    REQUIRE_THROWS_WITH(run_in_lab(cluster, unproved(),
                                   [&](Lab& lab) -> std::string {
                                     inhabit(lab, cluster.gpus(), *trace);
                                     std::signal(SIGABRT, SIG_DFL);
                                     std::abort();
                                   }),
                        "lab: its process was ended by signal 6 (Aborted)");
  }
  REQUIRE(trace->count == 2 + 8);
  REQUIRE(soon([&] { return left_behind(*trace).empty(); }));
}

TEST_CASE("lab: nothing is left of it when one of its processes is killed", "[lab]") {
  if (lab_is_refused()) return;
  const Cluster cluster = lab_cluster();
  const int depth = GENERATE(0, 1, 2, 3);  // caller, keeper, init, worker
  CAPTURE(depth);
  const SharedTrace trace;
  const pid_t caller = fork();
  if (caller == 0) {
    try {
      run_in_lab(cluster, unproved(), [&](Lab& lab) -> std::string {
        inhabit(lab, cluster.gpus(), *trace);
        while (true) pause();
      });
    } catch (const Error& error) {
      _exit(std::string(error.what()) == "lab: its process was ended by signal 9 (Killed)" ? 0 : 1);
    }
    _exit(2);
  }
  REQUIRE(soon([&] { return trace->ready.load(); }));
  REQUIRE(left_behind(*trace).size() >= 10);

  pid_t victim = caller;
  for (int i = 0; i < depth; ++i) victim = child_of(victim);
  REQUIRE(victim > 1);
  REQUIRE(kill(victim, SIGKILL) == 0);
  int status = 0;
  REQUIRE(waitpid(caller, &status, 0) == caller);
  if (depth > 0) {
    REQUIRE(WIFEXITED(status));
    REQUIRE(WEXITSTATUS(status) == 0);  // the caller was told
  }
  const bool gone = soon([&] { return left_behind(*trace).empty(); });
  CAPTURE(left_behind(*trace));
  REQUIRE(gone);
}

TEST_CASE("lab: where namespaces are refused it says what and what to do", "[lab]") {
  if (lab_is_refused()) return;
  // A user namespace in which no network namespace may be made.
  const pid_t child = fork();
  if (child == 0) {
    const uid_t user = geteuid();
    if (unshare(CLONE_NEWUSER) != 0) _exit(10);
    detail::write_setting("/proc/self/setgroups", "deny");
    detail::write_setting("/proc/self/uid_map", fmt::format("0 {} 1", user));
    detail::write_setting("/proc/sys/user/max_net_namespaces", "0");
    try {
      run_in_lab(lab_cluster(), unproved(), [](Lab&) { return std::string(); });
    } catch (const Error& error) {
      const std::string expected =
          "lab: cannot make network and process namespaces: No space left on device; this system "
          "refuses what a lab needs: run as root (in a container with SYS_ADMIN and NET_ADMIN), "
          "allow user namespaces (sysctl kernel.unprivileged_userns_clone=1, "
          "kernel.apparmor_restrict_unprivileged_userns=0, user.max_net_namespaces > 0), or run "
          "without a lab";
      if (error.what() != expected) std::fprintf(stderr, "%s\n", error.what());
      _exit(error.code() == ErrorCode::environment && error.what() == expected ? 0 : 11);
    }
    _exit(12);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  REQUIRE(WEXITSTATUS(status) == 0);
}

TEST_CASE("lab: an ordinary user can have one", "[lab]") {
  if (lab_is_refused()) return;
  if (geteuid() != 0) return;  // all other tests ran as one
  constexpr int kRefused = 20;
  const pid_t child = fork();
  if (child == 0) {
    constexpr uid_t kNobody = 65534;
    if (setgid(kNobody) != 0 || setuid(kNobody) != 0) _exit(10);
    prctl(PR_SET_DUMPABLE, 1);  // as after a login: else its own /proc/self is not its own
    try {
      LabOptions options = unproved();
      options.fair = true;
      const std::string text = run_in_lab(lab_cluster(), options, [](Lab& lab) {
        const detail::LabFlow flow{Rank(0), Rank(4)};
        return detail::flow_rates(lab, {&flow, 1}, 0.2).front() > 0 ? "moved" : "stuck";
      });
      _exit(text == "moved" ? 0 : 11);
    } catch (const Error& error) {
      std::fprintf(stderr, "%s\n", error.what());
      const std::string why = error.what();
      _exit(why.find("refuses what a lab needs") != std::string::npos ? kRefused : 12);
    }
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kRefused) {
    WARN("skipped: root may have namespaces here, others may not");
    return;
  }
  REQUIRE(WEXITSTATUS(status) == 0);
}

}  // namespace refit::test
