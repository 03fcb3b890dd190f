#include <catch2/catch.hpp>

#include <string>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include "executor/detail/socket.h"
#include "tests/executor/tcp_case.h"

namespace refit::test {
namespace {

int free_port() { return detail::port_of(detail::listen_on("127.0.0.1", 0, {})); }

// Starts ranks 1.. as somebody else's launcher would: `status_of` is each process's exit status.
template <class Work>
std::vector<pid_t> start(int ranks, const Work& status_of) {
  std::vector<pid_t> pids;
  for (int r = 1; r < ranks; ++r) {
    const pid_t pid = fork();
    if (pid == 0) _exit(status_of(r));
    pids.push_back(pid);
  }
  return pids;
}

std::vector<int> statuses(const std::vector<pid_t>& pids) {
  std::vector<int> result;
  for (const pid_t pid : pids) {
    int status = 0;
    waitpid(pid, &status, 0);
    result.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
  }
  return result;
}

}  // namespace

TEST_CASE("tcp: ranks that somebody else has started find each other", "[executor][tcp]") {
  const TcpCase c = planned({{1, 2, 0}, {2, 2, 1}, {48, 40}, Dtype::bf16, 2}, "reshard");
  RankEnvironment place{"refit", Rank(0), c.schedule.ranks, 0, "127.0.0.1", free_port()};
  const auto descriptors = open_descriptors();
  const auto pids = start(place.ranks, [&](int r) {
    RankEnvironment mine = place;
    mine.rank = Rank(r);
    const Measurement m = execute_tcp_rank(mine, c.schedule, c.refit, c.cluster, once(), patient());
    return m.iterations.empty() ? 0 : 1;
  });
  const Measurement m = execute_tcp_rank(place, c.schedule, c.refit, c.cluster, once(), patient());
  REQUIRE(m.wrong_bytes == 0);
  REQUIRE(m.iterations.size() == 1);
  REQUIRE(m.timeline.size() == c.schedule.ops.size());
  REQUIRE(statuses(pids) == std::vector<int>(5, 0));
  REQUIRE(open_descriptors() == descriptors);
}

TEST_CASE("tcp: in such a job, too, all survivors name the rank that died",
          "[executor][tcp][fault]") {
  const TcpCase c = planned({{1, 2, 0}, {1, 2, 1}, {256, 256}, Dtype::bf16, 1}, "direct");
  RankEnvironment place{"refit", Rank(0), c.schedule.ranks, 0, "127.0.0.1", free_port()};
  TcpOptions tcp = patient();
  tcp.wrap = [](Rank rank, std::unique_ptr<Transport> real) {
    if (rank == Rank(2)) _exit(9);
    return real;
  };
  const auto pids = start(place.ranks, [&](int r) {
    RankEnvironment mine = place;
    mine.rank = Rank(r);
    try {
      execute_tcp_rank(mine, c.schedule, c.refit, c.cluster, once(), tcp);
    } catch (const RankFailure& error) {
      return error.failure().rank == Rank(2) ? 0 : 1;
    }
    return 2;
  });
  REQUIRE_THROWS_WITH(
      execute_tcp_rank(place, c.schedule, c.refit, c.cluster, once(), tcp),
      Catch::StartsWith("rank 2, ") && Catch::EndsWith("its control connection has closed"));
  REQUIRE(statuses(pids) == std::vector<int>{0, 9, 0});
}

TEST_CASE("tcp: a rank that does not come is missed within the start time-out",
          "[executor][tcp][fault]") {
  const TcpCase c = planned({{1, 1, 0}, {1, 1, 0}, {8, 8}}, "direct");
  RankEnvironment place{"refit", Rank(0), 2, 0, "127.0.0.1", free_port()};
  TcpOptions tcp = patient();
  tcp.failure.start_timeout_s = 0.2;
  REQUIRE_THROWS_WITH(
      execute_tcp_rank(place, c.schedule, c.refit, c.cluster, once(), tcp),
      Catch::Contains("rank(s) 1 of 2 have not come to the rendezvous within 0.2 s"));
}

TEST_CASE("tcp: a job of another size than the schedule is refused", "[executor][tcp]") {
  const TcpCase c = planned({{1, 1, 0}, {1, 1, 0}, {8, 8}}, "direct");
  RankEnvironment place{"torchrun", Rank(0), 3, 0, "127.0.0.1", 1};
  REQUIRE_THROWS_WITH(execute_tcp_rank(place, c.schedule, c.refit, c.cluster),
                      "started by torchrun as 3 ranks; the schedule needs 2");
}

}  // namespace refit::test
