#include "sim/detail/child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>

#include <fmt/format.h>

#include "base/check.h"
#include "base/error.h"

namespace refit::detail {
namespace {

constexpr std::size_t kLongestMessage = 1 << 16;

// What the child says first: 0 and the count of numbers, or an error code and the message's length.
struct Header {
  std::int64_t code = 0;
  std::uint64_t length = 0;
};

bool write_all(int fd, const void* from, std::size_t bytes) {
  const char* next = static_cast<const char*>(from);
  while (bytes > 0) {
    const ssize_t wrote = write(fd, next, bytes);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    next += wrote;
    bytes -= static_cast<std::size_t>(wrote);
  }
  return true;
}

bool read_all(int fd, void* to, std::size_t bytes) {
  char* next = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t got = read(fd, next, bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    next += got;
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd() { close(); }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;

  int get() const { return fd_; }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
};

void send_error(int fd, ErrorCode code, std::string message) {
  message.resize(std::min(message.size(), kLongestMessage));
  const Header header{static_cast<std::int64_t>(code), message.size()};
  if (write_all(fd, &header, sizeof header)) write_all(fd, message.data(), message.size());
}

// Leaves by _exit, so that no buffer and no destructor of the parent runs twice.
[[noreturn]] void serve(int fd, std::size_t count,
                        const std::function<std::vector<double>()>& work) {
  try {
    const std::vector<double> numbers = work();
    REFIT_CHECK(numbers.size() == count);
    const Header header{0, numbers.size()};
    if (write_all(fd, &header, sizeof header)) {
      write_all(fd, numbers.data(), numbers.size() * sizeof(double));
    }
  } catch (const Error& error) {
    send_error(fd, error.code(), error.what());
  } catch (const std::exception& error) {
    send_error(fd, ErrorCode::environment, fmt::format("simulation: {}", error.what()));
  }
  _exit(0);
}

int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno == EINTR) continue;
    return -1;
  }
  return status;
}

[[noreturn]] void fail(int status) {
  std::string how = "stopped before it had a result";
  if (status >= 0 && WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    how = fmt::format("was stopped by signal {} ({})", signal, strsignal(signal));
  } else if (status >= 0 && WIFEXITED(status)) {
    how = fmt::format("exited with status {} before it had a result", WEXITSTATUS(status));
  }
  throw Error(ErrorCode::environment,
              fmt::format("simulation: the child process {}; its last words are above", how));
}

}  // namespace

std::vector<double> run_in_child(std::size_t count,
                                 const std::function<std::vector<double>()>& work) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw Error(ErrorCode::environment, fmt::format("simulation: pipe: {}", strerror(errno)));
  }
  Fd from_child(ends[0]);
  Fd to_parent(ends[1]);
  std::fflush(nullptr);  // the engine flushes too, and in the child would repeat what waits here
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) {
    throw Error(ErrorCode::environment, fmt::format("simulation: fork: {}", strerror(errno)));
  }
  if (child == 0) {
    // No orphan: whatever ends the caller ends its simulation.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    from_child.close();
    serve(to_parent.get(), count, work);
  }
  to_parent.close();  // or the read below would never see the end

  Header header;
  std::vector<double> numbers;
  std::string message;
  bool whole = read_all(from_child.get(), &header, sizeof header);
  if (whole && header.code == 0 && header.length == count) {
    numbers.resize(count);
    whole = read_all(from_child.get(), numbers.data(), count * sizeof(double));
  } else if (whole && header.code != 0 && header.length <= kLongestMessage) {
    message.resize(header.length);
    whole = read_all(from_child.get(), message.data(), message.size());
  } else {
    whole = false;
  }
  from_child.close();
  const int status = wait_for(child);
  if (!whole) fail(status);
  if (header.code != 0) throw Error(static_cast<ErrorCode>(header.code), message);
  return numbers;
}

}  // namespace refit::detail
