// Ranks that wait for each other: every process lives, every loop turns, and nothing will ever
// come.
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include <sys/socket.h>

#include <catch2/catch.hpp>

#include "executor/rendezvous.h"
#include "tests/executor/circle.h"
#include "tests/executor/tcp_case.h"

namespace refit::test {
namespace {

TcpCase in_a_circle() {
  TcpCase c = planned({{1, 2, 0}, {2, 1, 0}, {16, 16}, Dtype::bf16, 2}, "reshard");
  close_circle(c.schedule);
  return c;
}

// What a rendezvous says of two ranks that beat every 5 ms for 0.5 s; it misses a loop that hangs
// or ranks that wait for each other within 0.2 s. `beats` makes the n-th beat of a rank.
std::string said_of(const std::function<Beat(int rank, std::uint64_t n)>& beats) {
  FailureOptions options;
  options.timeout_s = 5 * kSlowdown;
  options.stall_timeout_s = 0.2;
  Rendezvous rendezvous(2, options);
  std::vector<detail::Descriptor> ranks;
  for (int r = 0; r < 2; ++r) {
    auto [rank, served] = detail::socket_pair();
    rendezvous.adopt(Rank(r), std::move(served));
    ranks.push_back(std::move(rank));
  }
  std::atomic<bool> over = false;
  std::thread beating([&] {
    for (std::uint64_t n = 0; n < 100 && !over; ++n) {
      for (int r = 0; r < 2; ++r) {
        std::string body;
        detail::put(body, beats(r, n));
        const std::string frame = detail::encode(detail::FrameKind::beat, body);
        ::send(ranks[static_cast<std::size_t>(r)].get(), frame.data(), frame.size(), MSG_NOSIGNAL);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    for (detail::Descriptor& rank : ranks) rank.close();
  });
  const std::optional<Failure> failure = rendezvous.serve({});
  over = true;
  beating.join();
  return failure ? failure->reason : "nothing";
}

// A rank that waits in its data loop, with a loop that turns.
Beat still(std::uint64_t n) {
  Beat beat;
  beat.phase = RankPhase::moving;
  beat.stands = 1;
  beat.turns = n;
  return beat;
}

}  // namespace

TEST_CASE("tcp: ops that wait for each other end the run, which says so",
          "[executor][tcp][fault]") {
  // It would wait for ever: nobody is lost.
  TcpOptions tcp = patient();
  tcp.failure.stall_timeout_s = 0.3 * kSlowdown;
  tcp.failure.timeout_s = 0.5 * kSlowdown;
  tcp.policy = FaultPolicy::shrink;  // it is no loss either, which others could make up for
  const TcpCase c = in_a_circle();
  try {
    run(c, once(), tcp);
    FAIL("it went on");
  } catch (const RankFailure& error) {
    CAPTURE(error.what());
    CHECK(error.code() == ErrorCode::check_failed);
    CHECK(error.failure().move);
    CHECK_THAT(error.what(), Catch::StartsWith("rank ") && Catch::Contains(", op ") &&
                                 Catch::Contains("(transfer ") &&
                                 Catch::EndsWith("the ops wait for each other"));
  }
}

TEST_CASE("rendezvous: ranks wait for each other only if all do, and nothing is under way",
          "[executor][tcp][fault]") {
  struct Case {
    std::string says;
    std::function<void(Beat&, std::uint64_t n)> other;  // than a rank that is still
  };
  const std::string circle = "the ops wait for each other", closed = "connection has closed";
  const Case cases[] = {
      {circle, [](Beat&, std::uint64_t) {}},
      // It has come to a meeting already.
      {circle, [](Beat& b, std::uint64_t) { b.phase = RankPhase::waiting; }},
      // It computes; what it sent is on its way; now and then a little arrives.
      {closed, [](Beat& b, std::uint64_t) { b.phase = RankPhase::checking; }},
      {closed, [](Beat& b, std::uint64_t) { b.stands = 0; }},
      {closed, [](Beat& b, std::uint64_t n) { b.progress = n / 8; }},
      // Its loop hangs, which is another thing to say.
      {"its loop has not turned", [](Beat& b, std::uint64_t) { b.turns = 7; }},
  };
  // They sleep most of the time.
  std::vector<std::future<std::string>> said;
  for (const Case& one : cases) {
    said.push_back(std::async(std::launch::async, [&one] {
      return said_of([&one](int rank, std::uint64_t n) {
        Beat beat = still(n);
        if (rank == 1) one.other(beat, n);
        return beat;
      });
    }));
  }
  for (std::size_t i = 0; i < said.size(); ++i) {
    CAPTURE(i);
    CHECK_THAT(said[i].get(), Catch::Contains(cases[i].says));
  }
}

}  // namespace refit::test
