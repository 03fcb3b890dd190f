#include "executor/launch.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <optional>
#include <vector>

#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "executor/rendezvous.h"
#include "executor/run_rank.h"

namespace refit {
namespace {

constexpr int kReportedExit = 1;  // the rank has told the rendezvous why

// The processes of a run. None is left when it goes.
class Children {
 public:
  explicit Children(int ranks) : children_(static_cast<std::size_t>(ranks)) {}
  ~Children() {
    for (const Child& child : children_)
      if (child.pid > 0) kill(child.pid, SIGKILL);
    for (Child& child : children_) reap(child, 0);
  }
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;

  void add(Rank rank, pid_t pid) { children_[rank.index()].pid = pid; }

  // "killed by signal 9 (Killed)"; its control connection has closed, so it is about to end.
  std::string exit_text(Rank rank) {
    Child& child = children_[rank.index()];
    wait_until(child, steady_clock_s() + 0.5);
    if (child.pid > 0) return "its control connection has closed and it still runs";
    if (WIFSIGNALED(child.status)) {
      const int signal = WTERMSIG(child.status);
      return fmt::format("killed by signal {} ({})", signal, strsignal(signal));
    }
    return fmt::format("its process ended with status {} in the middle of its work",
                       WEXITSTATUS(child.status));
  }

  // It is lost to the others and may be stopped for good.
  void end(Rank rank) {
    const Child& child = children_[rank.index()];
    if (child.pid > 0) kill(child.pid, SIGKILL);
  }

  // The run goes on without it, and how it ended does not matter.
  void drop(Rank rank) {
    end(rank);
    children_[rank.index()].dropped = true;
  }

  // Gives all a moment to end by themselves.
  void wait(double seconds) {
    const double end = steady_clock_s() + seconds;
    for (Child& child : children_) wait_until(child, end);
  }

  // A rank that finished and then ended otherwise than it should (a sanitizer's finding).
  std::optional<Failure> odd_end() const {
    for (std::size_t r = 0; r < children_.size(); ++r) {
      const Child& child = children_[r];
      if (child.pid == 0 && (child.status == 0 || child.dropped)) continue;
      Failure failure;
      failure.rank = Rank(static_cast<int>(r));
      failure.phase = RankPhase::checking;
      failure.reason =
          child.pid > 0 ? "it has finished and does not end"
          : WIFSIGNALED(child.status)
              ? fmt::format("killed by signal {} after it had finished", WTERMSIG(child.status))
              : fmt::format("ended with status {} after it had finished",
                            WEXITSTATUS(child.status));
      return failure;
    }
    return std::nullopt;
  }

 private:
  struct Child {
    pid_t pid = 0;  // 0 once reaped
    int status = 0;
    bool dropped = false;
  };

  static void reap(Child& child, int flags) {
    if (child.pid <= 0) return;
    pid_t got = 0;
    do {
      got = waitpid(child.pid, &child.status, flags);
    } while (got < 0 && errno == EINTR);
    if (got != 0) child.pid = 0;
  }

  // No file descriptor tells of an exit on every kernel we run on: look every millisecond.
  static void wait_until(Child& child, double end) {
    while (true) {
      reap(child, WNOHANG);
      if (child.pid == 0 || steady_clock_s() > end) return;
      poll(nullptr, 0, 1);
    }
  }

  std::vector<Child> children_;
};

void die_with(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kReportedExit);  // it died before we asked
}

// The whole life of a rank's process.
[[noreturn]] void be_rank(Rank rank, int ranks, pid_t parent, RankNetwork& network,
                          const FailureOptions& options, detail::Descriptor socket,
                          const std::function<void(RankControl&)>& work) {
  int status = 0;
  try {
    die_with(parent);
    raise_open_file_limit();
    // Before the heartbeat's thread starts: a process with threads may not change all namespaces.
    std::exception_ptr refused;
    try {
      network.enter(rank);
    } catch (...) {
      refused = std::current_exception();
    }
    die_with(parent);  // a change of credentials has forgotten it
    RankControl control(rank, ranks, std::move(socket), options);
    run_guarded(control, [&](RankControl& c) {
      if (refused) std::rethrow_exception(refused);
      work(c);
    });
  } catch (...) {
    status = kReportedExit;
  }
  // Not exit(): buffers and handlers are the parent's.
  _exit(status);
}

}  // namespace

void raise_open_file_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

void run_guarded(RankControl& control, const std::function<void(RankControl&)>& work) {
  try {
    work(control);
    control.finish();
  } catch (const RankFailure&) {
    throw;  // agreed already
  } catch (const std::exception& error) {
    throw RankFailure(control.agree(error).failure);
  }
}

void launch(int ranks, RankNetwork& network, const FailureOptions& options,
            const std::function<void(RankControl&)>& work,
            const std::function<void(Rank, std::string_view)>& result) {
  std::optional<Failure> failure;
  {
    Children children(ranks);
    Rendezvous rendezvous(ranks, options);
    std::vector<int> ours;  // the parent's ends, which no child may keep
    const pid_t parent = getpid();
    for (int r = 0; r < ranks; ++r) {
      auto [mine, its] = detail::socket_pair();
      ours.push_back(mine.get());
      const pid_t pid = fork();
      if (pid < 0)
        throw Error(ErrorCode::environment,
                    fmt::format("can't start rank {} of {}: {}", r, ranks, detail::last_error()));
      if (pid == 0) {
        for (const int fd : ours) close(fd);
        be_rank(Rank(r), ranks, parent, network, options, std::move(its), work);
      }
      children.add(Rank(r), pid);
      rendezvous.adopt(Rank(r), std::move(mine));
    }
    Rendezvous::Hooks hooks;
    hooks.result = result;
    hooks.exit_text = [&](Rank rank) { return children.exit_text(rank); };
    hooks.drop = [&](Rank rank) { children.drop(rank); };
    failure = rendezvous.serve(hooks);
    if (failure) children.end(failure->rank);
    children.wait(failure ? options.timeout_s : options.stall_timeout_s);
    if (!failure) failure = children.odd_end();
  }
  if (failure) throw RankFailure(*failure);
}

}  // namespace refit
