// Ranks as processes, on stand-ins for CUDA and NCCL.
#include <catch2/catch.hpp>

#include <cerrno>
#include <chrono>
#include <csignal>

#include <sys/wait.h>
#include <unistd.h>

#include "executor/cuda/execute_cuda.h"
#include "executor/detail/socket.h"
#include "tests/executor/tcp_case.h"
#include "tests/fakes/fake_cuda_nccl.h"

namespace refit::test {
namespace {

CudaOptions short_run() {
  CudaOptions options;
  options.run = once();
  options.failure = patient().failure;
  return options;
}

Measurement run_nccl(const TcpCase& c, const CudaOptions& options) {
  fake::end_with_faults();
  return execute_nccl(c.schedule, c.refit, c.cluster, std::nullopt, options);
}

// Nobody else is struck.
struct Strike {
  Strike(int rank, int signal, int messages) { fake::strike_rank(rank, signal, messages); }
  ~Strike() { fake::strike_rank(-1, 0, 0); }
};

void require_nothing_left(std::ptrdiff_t descriptors) {
  REQUIRE(open_descriptors() == descriptors);
  REQUIRE(waitpid(-1, nullptr, WNOHANG) == -1);
  REQUIRE(errno == ECHILD);
}

}  // namespace

TEST_CASE("nccl processes: every strategy leaves every destination byte right", "[nccl]") {
  const char* strategy = GENERATE("reshard", "direct", "gather_broadcast", "hybrid");
  CAPTURE(strategy);
  PlanOptions plan;
  plan.chunks = 3;
  plan.bucket_bytes = 20000;
  const TcpCase c = planned({{2, 2, 0}, {1, 4, 1}, {120, 96}, Dtype::bf16, 4}, strategy, plan);
  const auto descriptors = open_descriptors();
  CudaOptions options = short_run();
  options.run.iterations = 2;
  options.run.warmup = 1;
  const Measurement m = run_nccl(c, options);
  REQUIRE(m.transport == "nccl");
  REQUIRE(m.wrong_bytes == 0);
  REQUIRE(m.iterations.size() == 2);
  for (std::size_t op = 0; op < c.schedule.ops.size(); ++op)
    if (moves_bytes(c.schedule.ops[op])) REQUIRE(m.timeline[op].end_s > 0);
  require_nothing_left(descriptors);
}

TEST_CASE("nccl processes: a byte that changes on its way is counted and located", "[nccl]") {
  const TcpCase c = planned({{1, 2, 0}, {1, 2, 1}, {64, 64}, Dtype::bf16, 1}, "direct");
  // In every process the first message that it receives: both destinations get two.
  fake::corrupt_message(0);
  const Measurement m = run_nccl(c, short_run());
  fake::corrupt_message(-1);
  REQUIRE(m.wrong_bytes == 2);
  REQUIRE(m.wrong_examples.size() == 2);
  for (const WrongByte& wrong : m.wrong_examples) REQUIRE(wrong.rank >= Rank(2));
}

TEST_CASE("nccl processes: all survivors learn which rank died, and in which op", "[nccl][fault]") {
  // 2 x 2 shards to 4: rank 4 is killed when it has its first message of the first iteration.
  const TcpCase c = planned({{2, 2, 0}, {1, 4, 1}, {512, 512}, Dtype::bf16, 1}, "direct");
  const auto descriptors = open_descriptors();
  const Strike strike(4, SIGKILL, 1);
  const auto begin = std::chrono::steady_clock::now();
  try {
    run_nccl(c, short_run());
    FAIL("it ran");
  } catch (const RankFailure& error) {
    CAPTURE(error.what());
    REQUIRE(error.code() == ErrorCode::environment);
    REQUIRE(error.failure().rank == Rank(4));
    REQUIRE_THAT(error.what(), Catch::StartsWith("rank 4, round ") &&
                                   Catch::EndsWith("killed by signal 9 (Killed)"));
  }
  // A closed control connection tells at once: nobody has waited for a time-out.
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  REQUIRE(seconds < patient().failure.timeout_s);
  require_nothing_left(descriptors);
}

TEST_CASE("nccl processes: a stopped rank is missed within the time-out and ended",
          "[nccl][fault]") {
  const TcpCase c = planned({{2, 2, 0}, {1, 4, 1}, {512, 512}, Dtype::bf16, 1}, "direct");
  const auto descriptors = open_descriptors();
  CudaOptions options = short_run();
  options.failure.timeout_s = 2;
  const Strike strike(4, SIGSTOP, 1);
  REQUIRE_THROWS_WITH(run_nccl(c, options),
                      Catch::StartsWith("rank 4, ") && Catch::Contains("not heard from for "));
  require_nothing_left(descriptors);
}

TEST_CASE("nccl processes: a rank without its GPU is that rank's failure", "[nccl][fault]") {
  const TcpCase c = planned({{1, 1, 0}, {1, 1, 0}, {8, 8}}, "direct");
  fake::set_devices(1);  // for two ranks
  REQUIRE_THROWS_WITH(run_nccl(c, short_run()),
                      Catch::Contains("rank 1 wants GPU 1 and there are 1; start as many ranks per "
                                      "machine as it has GPUs"));
  fake::set_devices(64);
}

TEST_CASE("nccl processes: ranks that somebody else has started find each other", "[nccl]") {
  const TcpCase c = planned({{1, 2, 0}, {2, 2, 1}, {48, 40}, Dtype::bf16, 2}, "reshard");
  const int port = detail::port_of(detail::listen_on("127.0.0.1", 0, {}));
  RankEnvironment place{"refit", Rank(0), c.schedule.ranks, 0, "127.0.0.1", port};
  fake::end_with_faults();
  std::vector<pid_t> pids;
  for (int r = 1; r < place.ranks; ++r) {
    const pid_t pid = fork();
    if (pid == 0) {
      place.rank = Rank(r);
      place.local_rank = r;
      try {
        const Measurement m = execute_nccl(c.schedule, c.refit, c.cluster, place, short_run());
        _exit(m.iterations.empty() ? 0 : 1);
      } catch (const std::exception&) {
        _exit(2);
      }
    }
    pids.push_back(pid);
  }
  const Measurement m = execute_nccl(c.schedule, c.refit, c.cluster, place, short_run());
  REQUIRE(m.wrong_bytes == 0);
  REQUIRE(m.iterations.size() == 1);
  for (const pid_t pid : pids) {
    int status = -1;
    waitpid(pid, &status, 0);
    REQUIRE(status == 0);
  }
}

}  // namespace refit::test
