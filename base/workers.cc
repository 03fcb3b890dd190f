#include "base/workers.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <functional>
#include <new>
#include <numeric>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/error.h"

namespace refit {
namespace {

// The first byte a worker sends says how to read the rest.
constexpr char kResult = '0';  // otherwise the digit of an ErrorCode

struct Worker {
  std::size_t job = 0;
  pid_t process = 0;
  int pipe = -1;
  std::string received;
};

std::string run_job(const Job& job) {
  const auto failure = [](ErrorCode code, const char* message) {
    return std::string(1, static_cast<char>('0' + static_cast<int>(code))) + message;
  };
  try {
    return kResult + job.work();
  } catch (const Error& error) {
    return failure(error.code(), error.what());
  } catch (const std::bad_alloc&) {
    return failure(ErrorCode::environment, (job.name + ": out of memory").c_str());
  } catch (const std::exception& error) {
    return failure(ErrorCode::environment, (job.name + ": " + error.what()).c_str());
  }
}

[[noreturn]] void work(const Job& job, int pipe) {
  const std::string text = run_job(job);
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t count = ::write(pipe, text.data() + sent, text.size() - sent);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) ::_exit(1);
    sent += static_cast<std::size_t>(count);
  }
  ::_exit(0);  // not exit: the parent's buffers and destructors are the parent's
}

Worker start(const std::vector<Job>& jobs, std::size_t job) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    throw Error(ErrorCode::environment,
                fmt::format("{}: no pipe to a worker: {}", jobs[job].name, std::strerror(errno)));
  }
  std::fflush(nullptr);
  const pid_t parent = ::getpid();
  const pid_t process = ::fork();
  if (process == 0) {
    // No orphan: whatever ends the command ends its workers.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    ::close(ends[0]);
    work(jobs[job], ends[1]);
  }
  const int error = errno;
  ::close(ends[1]);
  if (process < 0) {
    ::close(ends[0]);
    throw Error(ErrorCode::environment,
                fmt::format("{}: no worker process: {}", jobs[job].name, std::strerror(error)));
  }
  return {job, process, ends[0], {}};
}

// Reads what is there; true at the end of the stream.
bool receive(Worker& worker) {
  char buffer[1 << 16];
  const ssize_t count = ::read(worker.pipe, buffer, sizeof buffer);
  if (count > 0) worker.received.append(buffer, static_cast<std::size_t>(count));
  return count == 0 || (count < 0 && errno != EINTR);
}

JobOutcome finish(const Worker& worker, const std::string& name) {
  ::close(worker.pipe);
  int status = 0;
  while (::waitpid(worker.process, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) {
    return {{},
            Error(ErrorCode::environment,
                  fmt::format("{}: its process was ended by signal {} ({})", name, WTERMSIG(status),
                              ::strsignal(WTERMSIG(status))))};
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || worker.received.empty()) {
    return {{},
            Error(ErrorCode::environment,
                  fmt::format("{}: its process ended with status {} and without a result", name,
                              WEXITSTATUS(status)))};
  }
  const char kind = worker.received.front();
  std::string text = worker.received.substr(1);
  if (kind == kResult) return {std::move(text), {}};
  return {{}, Error(static_cast<ErrorCode>(kind - '0'), text)};
}

}  // namespace

int all_cores() { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }

void for_each_outcome(const std::vector<Job>& jobs, int at_most,
                      const std::function<void(std::size_t, JobOutcome)>& ended) {
  REFIT_CHECK(at_most >= 1);
  std::vector<std::size_t> order(jobs.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t j) { return jobs[j].size; });
  std::vector<Worker> running;
  std::size_t started = 0;
  while (started < jobs.size() || !running.empty()) {
    while (started < jobs.size() && running.size() < static_cast<std::size_t>(at_most)) {
      const std::size_t job = order[started++];
      try {
        running.push_back(start(jobs, job));
      } catch (const Error& error) {
        ended(job, {{}, error});
      }
    }
    std::vector<pollfd> pipes;
    for (const Worker& worker : running) pipes.push_back({worker.pipe, POLLIN, 0});
    if (pipes.empty() || ::poll(pipes.data(), pipes.size(), -1) <= 0) continue;
    for (std::size_t i = pipes.size(); i-- > 0;) {
      if (pipes[i].revents == 0 || !receive(running[i])) continue;
      const std::size_t job = running[i].job;
      JobOutcome outcome = finish(running[i], jobs[job].name);
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
      ended(job, std::move(outcome));
    }
  }
}

std::vector<std::string> run_in_workers(const std::vector<Job>& jobs, int at_most,
                                        const std::function<void(std::size_t)>& done) {
  std::vector<JobOutcome> outcomes(jobs.size());
  std::size_t count = 0;
  for_each_outcome(jobs, at_most, [&](std::size_t job, JobOutcome outcome) {
    outcomes[job] = std::move(outcome);
    ++count;
    if (done) done(count);
  });
  std::vector<std::string> texts;
  for (JobOutcome& outcome : outcomes) {
    if (outcome.error) throw *outcome.error;
    texts.push_back(std::move(outcome.text));
  }
  return texts;
}

}  // namespace refit
