#include <catch2/catch.hpp>

#include <atomic>
#include <csignal>
#include <memory>
#include <vector>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/executor/tcp_case.h"

namespace refit::test {
namespace {

// Processes that want a core all the time.
class BusyLoops {
 public:
  explicit BusyLoops(int count) {
    for (int i = 0; i < count; ++i) {
      const pid_t pid = fork();
      if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (std::atomic<unsigned> turns = 0;; ++turns) continue;
      }
      pids_.push_back(pid);
    }
  }
  ~BusyLoops() {
    for (const pid_t pid : pids_) kill(pid, SIGKILL);
    for (const pid_t pid : pids_) waitpid(pid, nullptr, 0);
  }
  BusyLoops(const BusyLoops&) = delete;
  BusyLoops& operator=(const BusyLoops&) = delete;

 private:
  std::vector<pid_t> pids_;
};

constexpr int kBusyLoops = 4;

// 64 MiB in 16 shards become 16 other shards: every source sends to every destination, 256 KiB each
// in 4 chunks.
TcpCase thirty_two_ranks() {
  PlanOptions options;
  options.chunks = 4;
  return planned({{1, 16, 0}, {1, 16, 1}, {8192, 4096}, Dtype::bf16, 1}, "direct", options);
}

// Rank 17 stops for good in the middle of the first refit.
class Stopping : public Tampering {
 public:
  using Tampering::Tampering;

 private:
  void after_wait(const std::vector<Ended>& ended) override {
    seen_ += ended.size();
    if (seen_ >= 16) kill(getpid(), SIGSTOP);
  }
  std::size_t seen_ = 0;
};

}  // namespace

TEST_CASE("tcp: ranks and links that only wait for a core are not taken for lost",
          "[executor][tcp][busy]") {
  const TcpCase c = thirty_two_ranks();
  const BusyLoops others(kBusyLoops);
  ExecuteOptions options;
  options.iterations = 6;
  options.warmup = 0;
  // The time-out that users have: half a second.
  REQUIRE(run(c, options, TcpOptions()).wrong_bytes == 0);
}

TEST_CASE("tcp: on a busy machine, too, a rank that has stopped for good is found",
          "[executor][tcp][busy]") {
  const TcpCase c = thirty_two_ranks();
  const BusyLoops others(kBusyLoops);
  TcpOptions tcp;
  tcp.wrap = [](Rank rank, std::unique_ptr<Transport> real) -> std::unique_ptr<Transport> {
    if (rank != Rank(17)) return real;
    return std::make_unique<Stopping>(std::move(real));
  };
  REQUIRE_THROWS_WITH(run(c, once(), tcp), Catch::StartsWith("rank 17, round ") &&
                                               Catch::Contains(": not heard from for "));
}

}  // namespace refit::test
