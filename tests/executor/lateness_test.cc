#include "executor/detail/lateness.h"

#include <cstdlib>
#include <string>

#include <sys/socket.h>

#include <catch2/catch.hpp>

#include "executor/detail/reception.h"
#include "executor/rendezvous.h"

namespace refit::test {
namespace {

// What a rendezvous says of a rank whose last beat came `late_s` too late, then nothing.
std::string lost_after_beat(double late_s) {
  FailureOptions options;
  options.timeout_s = 0.2;
  Rendezvous rendezvous(1, options);
  auto [rank, served] = detail::socket_pair();
  rendezvous.adopt(Rank(0), std::move(served));
  std::string said = detail::encode(detail::FrameKind::hello, encode(detail::Introduction{}));
  std::string beat;
  detail::put(beat, Beat{.phase = RankPhase::preparing, .turns = 1, .late_s = late_s});
  said += detail::encode(detail::FrameKind::beat, beat);
  REQUIRE(::send(rank.get(), said.data(), said.size(), 0) == static_cast<ssize_t>(said.size()));
  return rendezvous.serve({})->reason;
}

double seconds_in(const std::string& reason) {
  const std::string before = "not heard from for ";
  REQUIRE(reason.starts_with(before));
  return std::atof(reason.c_str() + before.size());
}

}  // namespace

TEST_CASE("lateness: the worst of the last moments counts, and fades", "[executor][tcp]") {
  detail::Lateness lateness(2);
  REQUIRE(lateness.worst_s(5) == 0);
  lateness.add(5, 0.3);
  lateness.add(5, 0.1);
  lateness.add(5, -1);  // early
  REQUIRE(lateness.worst_s(5) == Approx(0.3));
  // 0.3 / e after the two seconds that it remembers
  REQUIRE(lateness.worst_s(7) == Approx(0.3 * 0.36787944));
  lateness.add(7, 0.2);
  REQUIRE(lateness.worst_s(7) == Approx(0.2));
}

TEST_CASE("rendezvous: a silent rank is given the more time the later all get their turns",
          "[executor][tcp][fault]") {
  // Time-out 0.2 s: silence of 0.18 s is loss. 0.3 s late give 4 * 0.3 s more, which fade with
  // 2 * 0.2 s: 0.18 + 1.2 * exp(-t / 0.4) = t at t = 0.506 s. On a busy machine both take longer.
  const double punctual_s = seconds_in(lost_after_beat(0));
  REQUIRE(punctual_s >= 0.18);
  REQUIRE(seconds_in(lost_after_beat(0.3)) >= 0.5);
}

}  // namespace refit::test
