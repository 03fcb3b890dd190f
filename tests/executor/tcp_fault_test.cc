#include <catch2/catch.hpp>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <string>

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/executor/tcp_case.h"

namespace refit::test {
namespace {

// Does something once `count` of a rank's messages have ended.
class AfterMessages : public Tampering {
 public:
  AfterMessages(std::unique_ptr<Transport> real, int count, void (*act)())
      : Tampering(std::move(real)), left_(count), act_(act) {}

 private:
  void after_wait(const std::vector<Ended>& ended) override {
    const int before = left_;
    left_ -= static_cast<int>(ended.size());
    if (before > 0 && left_ <= 0) act_();
  }
  int left_;
  void (*act_)();
};

void die() { kill(getpid(), SIGKILL); }
void stop() { kill(getpid(), SIGSTOP); }
void leave() { _exit(7); }
void be_slow() { usleep(1500000); }
void give_up() { throw Error(ErrorCode::check_failed, "had enough"); }
void cut_connections() {
  for (int fd = 3; fd < 200; ++fd) {
    int domain = 0;
    socklen_t size = sizeof domain;
    if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_INET)
      shutdown(fd, SHUT_RDWR);
  }
}

constexpr int kVictim = 2;

TcpOptions with_victim(void (*act)()) {
  TcpOptions tcp;
  tcp.wrap = [act](Rank rank, std::unique_ptr<Transport> real) -> std::unique_ptr<Transport> {
    if (rank != Rank(kVictim)) return real;
    return std::make_unique<AfterMessages>(std::move(real), 8, act);
  };
  return tcp;
}

// 4 sources hold quarters and send 4 destinations a part each, in 4 chunks: 16 messages a rank.
TcpCase sixteen_messages() {
  PlanOptions options;
  options.chunks = 4;
  return planned({{1, 4, 0}, {1, 4, 1}, {512, 512}, Dtype::bf16, 1}, "direct", options);
}

struct Outcome {
  Failure failure;
  std::string text;
  double seconds = 0;
};

// Runs it with the fault, which must end it, and checks that nothing is left behind.
Outcome run_into(void (*act)()) {
  const TcpCase c = sixteen_messages();
  const auto descriptors = open_descriptors();
  const auto begin = std::chrono::steady_clock::now();
  Outcome outcome;
  try {
    run(c, once(), with_victim(act));
    FAIL("the fault was not noticed");
  } catch (const RankFailure& error) {
    outcome.failure = error.failure();
    outcome.text = error.what();
  }
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  REQUIRE(open_descriptors() == descriptors);
  REQUIRE(waitpid(-1, nullptr, WNOHANG) == -1);
  REQUIRE(errno == ECHILD);
  CAPTURE(outcome.text);
  REQUIRE(outcome.failure.rank == Rank(kVictim));
  REQUIRE(outcome.failure.move);
  REQUIRE(outcome.seconds < 3 * kSlowdown);
  return outcome;
}

}  // namespace

TEST_CASE("tcp: a killed rank is named with its op, and nobody waits for it",
          "[executor][tcp][fault]") {
  const Outcome outcome = run_into(die);
  REQUIRE(outcome.failure.code == ErrorCode::environment);
  REQUIRE_THAT(outcome.text, Catch::StartsWith("rank 2, round ") && Catch::Contains(", op ") &&
                                 Catch::Contains(" 2 -> ") &&
                                 Catch::EndsWith("killed by signal 9 (Killed)"));
}

TEST_CASE("tcp: a stopped rank is noticed by its silence", "[executor][tcp][fault]") {
  const Outcome outcome = run_into(stop);
  REQUIRE_THAT(outcome.text, Catch::Contains("not heard from for 0."));
}

TEST_CASE("tcp: a rank that exits in the middle is named", "[executor][tcp][fault]") {
  REQUIRE_THAT(run_into(leave).text,
               Catch::EndsWith("its process ended with status 7 in the middle of its work"));
}

TEST_CASE("tcp: a rank all of whose connections break is named", "[executor][tcp][fault]") {
  const TcpCase c = sixteen_messages();
  const auto descriptors = open_descriptors();
  try {
    run(c, once(), with_victim(cut_connections));
    FAIL("the fault was not noticed");
  } catch (const RankFailure& error) {
    // Of a broken connection each end blames the other; rank 2 is an end of all.
    CAPTURE(error.what());
    REQUIRE_THAT(error.what(), Catch::Contains(" 2"));
    REQUIRE(error.failure().move);
  }
  REQUIRE(open_descriptors() == descriptors);
}

TEST_CASE("tcp: a rank's own error keeps its code and its words", "[executor][tcp][fault]") {
  const Outcome outcome = run_into(give_up);
  REQUIRE(outcome.failure.code == ErrorCode::check_failed);
  REQUIRE_THAT(outcome.text, Catch::EndsWith(": had enough"));
}

TEST_CASE("tcp: a rank that is slow for three time-outs is not lost", "[executor][tcp][fault]") {
  // 4 MiB from each to each, far more than fits between two sockets: those who send to rank 2 find
  // its window shut all the while, and its kernel acknowledges nothing but probes.
  const TcpCase c = planned({{1, 2, 0}, {1, 2, 1}, {2048, 4096}, Dtype::bf16, 1}, "direct");
  TcpOptions tcp;
  tcp.wrap = [](Rank rank, std::unique_ptr<Transport> real) -> std::unique_ptr<Transport> {
    if (rank != Rank(kVictim)) return real;
    return std::make_unique<AfterMessages>(std::move(real), 1, be_slow);
  };
  REQUIRE(run(c, once(), tcp).wrong_bytes == 0);
}

TEST_CASE("tcp: a rank that dies before it starts is named", "[executor][tcp][fault]") {
  TcpOptions tcp;
  tcp.wrap = [](Rank rank, std::unique_ptr<Transport> real) {
    if (rank == Rank(kVictim)) die();
    return real;
  };
  try {
    run(sixteen_messages(), once(), tcp);
    FAIL("the fault was not noticed");
  } catch (const RankFailure& error) {
    REQUIRE_THAT(error.what(),
                 Catch::Equals("rank 2, waiting for the others: killed by signal 9 (Killed)") ||
                     Catch::Equals("rank 2, starting: killed by signal 9 (Killed)"));
  }
}

TEST_CASE("tcp: a place in the network that can't be entered is an error of that rank",
          "[executor][tcp][fault]") {
  struct Closed : LoopbackNetwork {
    void enter(Rank rank) override {
      if (rank == Rank(1)) throw Error(ErrorCode::environment, "no such namespace");
    }
  } network;
  TcpOptions tcp = patient();
  tcp.network = &network;
  REQUIRE_THROWS_WITH(run(sixteen_messages(), once(), tcp), "rank 1, starting: no such namespace");
}

TEST_CASE("tcp: twenty runs in a row, some of them killed, leave nothing",
          "[executor][tcp][fault]") {
  const TcpCase c = planned({{1, 2, 0}, {1, 2, 1}, {32, 32}}, "direct");
  const auto descriptors = open_descriptors();
  for (int i = 0; i < 20; ++i) {
    CAPTURE(i);
    if (i % 5 == 4) {
      TcpOptions tcp = patient();
      tcp.wrap = [](Rank rank, std::unique_ptr<Transport> real) -> std::unique_ptr<Transport> {
        if (rank != Rank(1)) return real;
        return std::make_unique<AfterMessages>(std::move(real), 1, die);
      };
      REQUIRE_THROWS_AS(run(c, once(), tcp), RankFailure);
    } else {
      REQUIRE(run(c).wrong_bytes == 0);
    }
    REQUIRE(open_descriptors() == descriptors);
    REQUIRE(waitpid(-1, nullptr, WNOHANG) == -1);
  }
}

}  // namespace refit::test
