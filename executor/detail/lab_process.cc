#include "executor/detail/lab_process.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/error.h"

// Three processes stand between the caller and the ranks:
//
//   caller -> keeper -> init -> worker -> ranks …
//
// The keeper makes the namespaces; only its children can be in the new process namespace. The init
// is number 1 there: when it ends, the kernel kills the rest. It is not the worker, since number 1
// is spared signals that should end it, abort()'s among them. Caller's end ends the keeper, the
// keeper's the init. Nothing is mounted: namespaces are kept by descriptors.
namespace refit::detail {
namespace {

constexpr char kText = '+';

[[noreturn]] void fail(const std::string& what) {
  throw Error(ErrorCode::environment, fmt::format("lab: {}: {}", what, std::strerror(errno)));
}

class Pipe {
 public:
  Pipe() {
    if (pipe2(fds_.data(), O_CLOEXEC) != 0) fail("pipe");
  }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int reader() const { return fds_[0]; }
  int writer() const { return fds_[1]; }
  void close_reader() { close_end(0); }
  void close_writer() { close_end(1); }

 private:
  void close_end(std::size_t end) {
    if (fds_[end] >= 0) close(fds_[end]);
    fds_[end] = -1;
  }
  std::array<int, 2> fds_{-1, -1};
};

void write_all(int fd, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t n = write(fd, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return;  // nobody reads any more
    done += static_cast<std::size_t>(n);
  }
}

std::string read_all(int fd) {
  std::string text;
  std::array<char, 65536> bytes;
  while (true) {
    const ssize_t n = read(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return text;
    text.append(bytes.data(), static_cast<std::size_t>(n));
  }
}

int wait_for(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  return status;
}

// What `work` says: its text, or the digit of its error's code and the message.
std::string answer_of(const std::function<std::string()>& work) {
  try {
    return kText + work();
  } catch (const Error& error) {
    return fmt::format("{}{}", static_cast<int>(error.code()), error.what());
  } catch (const std::exception& error) {
    return fmt::format("{}lab: {}", static_cast<int>(ErrorCode::environment), error.what());
  }
}

void write_map(const char* path, const std::string& line) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  const bool done = fd >= 0 && write(fd, line.data(), line.size()) > 0;
  if (fd >= 0) close(fd);
  if (!done) fail(fmt::format("cannot write {}", path));
}

// Without root: root of a user namespace of our own, which owns the namespaces made after it.
void become_own_root() {
  const uid_t user = geteuid();
  const gid_t group = getegid();
  if (unshare(CLONE_NEWUSER) != 0) fail("cannot make a user namespace");
  write_map("/proc/self/setgroups", "deny");
  write_map("/proc/self/uid_map", fmt::format("0 {} 1", user));
  write_map("/proc/self/gid_map", fmt::format("0 {} 1", group));
}

void make_namespaces() {
  constexpr int kOwn = CLONE_NEWNET | CLONE_NEWPID;
  try {
    if (geteuid() == 0 && unshare(kOwn) == 0) return;
    if (geteuid() == 0 && errno != EPERM) fail("cannot make network and process namespaces");
    become_own_root();
    if (unshare(kOwn) != 0) fail("cannot make network and process namespaces");
  } catch (const Error& error) {
    throw Error(error.code(),
                fmt::format("{}; this system refuses what a lab needs: run as root (in a container "
                            "with SYS_ADMIN and NET_ADMIN), allow user namespaces (sysctl "
                            "kernel.unprivileged_userns_clone=1, "
                            "kernel.apparmor_restrict_unprivileged_userns=0, "
                            "user.max_net_namespaces > 0), or run without a lab",
                            error.what()));
  }
}

// Ends this process as soon as the one that holds the pipe's other end is gone.
void end_with(const Pipe& held_by_parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  pollfd parent{held_by_parent.reader(), 0, 0};
  if (poll(&parent, 1, 0) != 0) _exit(1);  // gone before the line above
}

// Ends like the process that had this status.
[[noreturn]] void end_like(int status) {
  _exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}

[[noreturn]] void be_init(const std::function<std::string()>& work, const Pipe& answer) {
  const pid_t worker = fork();
  if (worker < 0) {
    write_all(answer.writer(), fmt::format("3lab: fork: {}", std::strerror(errno)));
    _exit(1);
  }
  if (worker == 0) {
    write_all(answer.writer(), answer_of(work));
    _exit(0);
  }
  while (true) {  // orphans of the worker are ours to collect
    int status = 0;
    const pid_t ended = waitpid(-1, &status, 0);
    if (ended == worker) end_like(status);
    if (ended < 0 && errno != EINTR) _exit(1);
  }
}

[[noreturn]] void be_keeper(const std::function<std::string()>& work, const Pipe& answer,
                            const Pipe& caller) {
  try {
    make_namespaces();
    end_with(caller);  // after the change of user, which would undo it
    Pipe keeper;
    const pid_t init = fork();
    if (init < 0) fail("fork");
    if (init == 0) {
      keeper.close_writer();
      end_with(keeper);
      be_init(work, answer);
    }
    end_like(wait_for(init));
  } catch (const Error& error) {
    write_all(answer.writer(), fmt::format("{}{}", static_cast<int>(error.code()), error.what()));
    _exit(1);
  }
}

std::string decode(const std::string& answer, int status) {
  if (answer.empty()) {
    const int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    throw Error(ErrorCode::environment,
                code > 128 ? fmt::format("lab: its process was ended by signal {} ({})", code - 128,
                                         strsignal(code - 128))
                           : fmt::format("lab: its process ended with status {}", code));
  }
  if (answer.front() == kText) return answer.substr(1);
  throw Error(static_cast<ErrorCode>(answer.front() - '0'), answer.substr(1));
}

}  // namespace

std::string run_apart(const std::function<std::string()>& work) {
  Pipe answer, caller;
  std::fflush(nullptr);  // or the child prints it a second time
  const pid_t keeper = fork();
  if (keeper < 0) fail("fork");
  if (keeper == 0) {
    answer.close_reader();
    caller.close_writer();
    be_keeper(work, answer, caller);
  }
  answer.close_writer();
  const std::string text = read_all(answer.reader());
  return decode(text, wait_for(keeper));
}

}  // namespace refit::detail
