#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/cli/program.h"
#include "tests/executor/lab_case.h"
#include "tests/executor/leak_tracker.h"
#include "tests/executor/two_pairs.h"

namespace refit::test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRuns = 50;
constexpr int kKilledRuns = 10;
constexpr double kMostSeconds = 30;  // that anything may take to end or to vanish

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Files where programs keep what should not last.
std::set<std::string> temporary_files() {
  std::set<std::string> names;
  for (const char* folder : {"/tmp", "/dev/shm", "/run/netns"}) {
    std::error_code none;
    for (fs::directory_iterator entry(folder, none), end; !none && entry != end;
         entry.increment(none))
      if (entry->path().filename().string().starts_with("refit")) names.insert(entry->path());
  }
  return names;
}

// One `refit run`, started and not yet ended.
class Run {
 public:
  Run(const Folder& folder, const std::string& mark, bool lab, bool to_file)
      : err_(folder / "err") {
    const std::string scenario = folder / "scenario.yaml", result = folder / "result.json";
    std::vector<std::string> words = {REFIT_PROGRAM, "run", scenario, "--transport",
                                      "tcp",         "-n",  "2",      "--json"};
    if (lab) words.push_back("--lab");
    if (to_file) words.insert(words.end(), {"-o", result});
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    const std::string path = fmt::format("PATH={}", std::getenv("PATH"));
    const std::string temporary = fmt::format("TMPDIR={}", folder / "");
    std::vector<char*> envp;
    for (const std::string* variable : {&mark, &path, &temporary})
      envp.push_back(const_cast<char*>(variable->c_str()));
    envp.push_back(nullptr);

    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err_.c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC, 0600);
    const int error =
        posix_spawn(&pid_, REFIT_PROGRAM, &actions, nullptr, argv.data(), envp.data());
    posix_spawn_file_actions_destroy(&actions);
    REQUIRE(error == 0);
  }
  ~Run() {
    if (!status_) kill(pid_, SIGKILL);
    if (!status_) waitpid(pid_, nullptr, 0);
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  pid_t pid() const { return pid_; }
  std::string error_text() const { return text_of(err_); }

  // Whether it has ended within this time.
  bool ended_within(double seconds) {
    const auto begin = Clock::now();
    while (!status_) {
      int status = 0;
      if (waitpid(pid_, &status, WNOHANG) == pid_) status_ = status;
      if (status_ || seconds_since(begin) > seconds) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return status_.has_value();
  }
  // -9 if killed
  int code() const { return WIFEXITED(*status_) ? WEXITSTATUS(*status_) : -WTERMSIG(*status_); }

 private:
  std::string err_;
  pid_t pid_ = 0;
  std::optional<int> status_;
};

// caller -> ranks, or, in a lab, caller -> keeper -> init -> worker -> ranks: one of the processes
// that are `depth` below the caller, or of the deepest there are.
pid_t choose_victim(const std::map<pid_t, pid_t>& parents, pid_t caller, int depth,
                    std::mt19937& random) {
  std::vector<pid_t> level = {caller};
  for (int d = 0; d < depth; ++d) {
    std::vector<pid_t> below;
    for (const auto& [pid, parent] : parents)
      if (std::ranges::find(level, parent) != level.end()) below.push_back(pid);
    if (below.empty()) break;
    level = std::move(below);
  }
  return level[random() % level.size()];
}

// Processes that have lost their parent come to this one, so that it can tell when all are gone.
class Orphanage {
 public:
  Orphanage() { prctl(PR_SET_CHILD_SUBREAPER, 1); }
  ~Orphanage() { prctl(PR_SET_CHILD_SUBREAPER, 0); }
  Orphanage(const Orphanage&) = delete;
  Orphanage& operator=(const Orphanage&) = delete;

  bool is_empty() const {
    pid_t ended = 0;
    while ((ended = waitpid(-1, nullptr, WNOHANG)) > 0) continue;
    return ended < 0;
  }
};

}  // namespace

TEST_CASE("run: fifty runs, ten of them killed anywhere at any time, leave nothing",
          "[lab][leak]") {
  const bool with_lab = !lab_is_refused();  // says so; the others run all the same
  const unsigned seed = Catch::rngSeed() != 0 ? Catch::rngSeed() : std::random_device()();
  WARN("seed " << seed << ", to be given back by --rng-seed");
  std::mt19937 random(seed);
  const auto uniform = [&] { return std::uniform_real_distribution<>(0, 1)(random); };

  std::vector<int> killed(kRuns - 2);  // after one of each kind has shown how long it takes
  for (int i = 0; i < kRuns - 2; ++i) killed[static_cast<std::size_t>(i)] = i + 2;
  std::ranges::shuffle(killed, random);
  killed.resize(kKilledRuns);

  const Folder folder;
  folder.write("scenario.yaml", kTwoPairs);
  const std::set<std::string> files_before = temporary_files();
  Tracker tracker;
  const Orphanage orphanage;
  double usual_s[2] = {1, 1};
  int hits = 0;
  for (int i = 0; i < kRuns; ++i) {
    const bool lab = with_lab && i % 2 == 1 && i < kRuns * 3 / 5;
    const bool to_be_killed = std::ranges::find(killed, i) != killed.end();
    const double at_s = uniform() * usual_s[lab];
    const int depth = static_cast<int>(random() % (lab ? 5 : 2));
    CAPTURE(i, lab, to_be_killed, at_s, depth);
    const auto begin = Clock::now();
    Run run(folder, tracker.mark(), lab, !to_be_killed);
    bool hit_caller = false;
    if (!run.ended_within(at_s)) {
      tracker.note();
      if (to_be_killed) {
        const pid_t victim = choose_victim(tracker.processes(), run.pid(), depth, random);
        hit_caller = victim == run.pid();
        hits += kill(victim, SIGKILL) == 0;
      }
    }
    REQUIRE(run.ended_within(kMostSeconds));
    const double took_s = seconds_since(begin);
    CAPTURE(took_s, run.error_text());
    if (!to_be_killed) {
      REQUIRE(run.code() == 0);
      usual_s[lab] = took_s;
    } else if (hit_caller) {
      // A process that has ended and waits to be collected takes a signal, too, and keeps its
      // status.
      REQUIRE((run.code() == -SIGKILL || run.code() == 0));
    } else if (run.code() != 0) {  // as it is if the blow came after the bytes were checked
      REQUIRE(run.code() == static_cast<int>(ErrorCode::environment));
      REQUIRE(run.error_text().starts_with("refit: "));
    }
  }
  CHECK(hits >= kKilledRuns / 2);  // others were too late
  CHECK(tracker.sockets() > 0);
  if (with_lab) CHECK(tracker.namespaces() > 0);

  const auto begin = Clock::now();
  std::vector<std::string> left;
  bool no_child = false;
  do {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    no_child = orphanage.is_empty();
    left = tracker.left_behind();
  } while (!(left.empty() && no_child) && seconds_since(begin) < kMostSeconds);
  CAPTURE(left);
  REQUIRE(left.empty());
  REQUIRE(no_child);
  REQUIRE(folder.files() == 3);  // scenario.yaml, err and result.json
  REQUIRE(temporary_files() == files_before);
}

}  // namespace refit::test
