#include <catch2/catch.hpp>

#include "tests/executor/loss_case.h"

namespace refit::test {
namespace {

LossOutcome run_shrinking(const TcpCase& c, const Blow& blow,
                          const ExecuteOptions& options = once()) {
  return run_losing(blow, [&](const LossOptions& loss) {
    TcpOptions tcp;
    static_cast<LossOptions&>(tcp) = loss;
    return run(c, options, tcp);
  });
}

}  // namespace

TEST_CASE("shrink: a replica takes over what a killed source had not sent yet",
          "[executor][tcp][fault]") {
  const LossOutcome outcome = run_shrinking(two_by_two(2), {.rank = 1});
  require_recovered(outcome, 1, 4);
  REQUIRE(outcome.measurement.fault->reason == "killed by signal 9 (Killed)");
  REQUIRE(outcome.measurement.fault->recovered_bytes > 0);
  REQUIRE(outcome.measurement.fault->recovered_bytes < 4 * kShardBytes);
  REQUIRE(outcome.measurement.fault->dropped.empty());
}

TEST_CASE("shrink: rank 0 is no more than any other rank", "[executor][tcp][fault]") {
  const LossOutcome outcome = run_shrinking(two_by_two(2), {.rank = 0});
  require_recovered(outcome, 0, 4);
  REQUIRE(outcome.measurement.fault->recovered_bytes > 0);
}

TEST_CASE("shrink: a stopped rank is ended before the others go on", "[executor][tcp][fault]") {
  const LossOutcome outcome =
      run_shrinking(two_by_two(2), {.rank = 1, .act = stop, .failure = FailureOptions{}});
  require_recovered(outcome, 1, 4);
  REQUIRE_THAT(outcome.measurement.fault->reason, Catch::Contains("not heard from for 0."));
}

TEST_CASE("shrink: wrong bytes are no loss and end the run", "[executor][tcp][fault]") {
  const LossOutcome outcome = run_shrinking(two_by_two(2), {.rank = 1, .act = find_wrong_bytes});
  REQUIRE(outcome.code == ErrorCode::check_failed);
  REQUIRE_THAT(outcome.error, Catch::StartsWith("rank 1, ") && Catch::EndsWith(": wrong bytes"));
}

TEST_CASE("shrink: a lost destination is dropped and the others get all of theirs",
          "[executor][tcp][fault]") {
  const LossOutcome outcome = run_shrinking(two_by_two(2), {.rank = 6});
  require_recovered(outcome, 6, 4);
  REQUIRE(outcome.measurement.fault->dropped == std::vector{Rank(6)});
}

TEST_CASE("shrink: bytes that only the lost rank had end the run, and the tensor is named",
          "[executor][tcp][fault]") {
  const LossOutcome outcome = run_shrinking(two_by_two(1), {.rank = 1});
  REQUIRE(outcome.code == ErrorCode::check_failed);
  REQUIRE_THAT(
      outcome.error,
      Catch::StartsWith("rank 1, ") &&
          Catch::Contains("killed by signal 9 (Killed); no other rank has all bytes of w:") &&
          Catch::EndsWith("destinations are not committed"));
}

TEST_CASE("shrink: when bytes are lost for good, destinations keep the refit before, whole",
          "[executor][tcp][fault]") {
  // Iterations 0 and 1 are whole; in the third the only holder of half the tensor dies halfway.
  const TcpCase c = two_by_two(1);
  const SharedCounts counts;  // 0: survivors that looked, 1: wrong bytes they found
  TcpOptions tcp;
  tcp.failure = patient().failure;
  tcp.policy = FaultPolicy::shrink;
  tcp.wrap = [&](Rank rank, std::unique_ptr<Transport> real) {
    const int lifetime = rank.value == 1 ? 2 * 32 + 16 : kForever;
    return std::make_unique<Counting>(std::move(real), counts.of_plan(3), lifetime, die);
  };
  tcp.aborted = [&](const RankMemory& memory, std::optional<std::uint64_t> seed) {
    counts.of_plan(0) += 1;
    counts.of_plan(1) += seed ? memory.count_wrong_published(*seed) : 1;
    counts.of_plan(2) += memory.count_wrong_published(seed.value_or(0) + 1);
  };
  ExecuteOptions options;
  options.warmup = 1;
  options.iterations = 4;
  REQUIRE_THROWS_WITH(run(c, options, tcp), Catch::Contains("no other rank has all bytes of w"));
  REQUIRE(counts.of_plan(0) == c.schedule.ranks - 1);
  REQUIRE(counts.of_plan(1) == 0);
  REQUIRE(counts.of_plan(2) > 0);  // the look can fail
}

TEST_CASE("shrink: the run ends with the iteration that had the fault", "[executor][tcp][fault]") {
  // 16 messages an iteration: the fault is in the second timed one, the third of all.
  ExecuteOptions options;
  options.warmup = 1;
  options.iterations = 4;
  const LossOutcome outcome =
      run_shrinking(two_by_two(2), {.rank = 1, .after = 2 * 16 + 8}, options);
  CAPTURE(outcome.error);
  REQUIRE(outcome.measurement.fault);
  REQUIRE(outcome.measurement.iterations.size() == 2);
  REQUIRE(outcome.measurement.wrong_bytes == 0);
}

TEST_CASE("shrink: a fault in a warm-up counts as the only iteration", "[executor][tcp][fault]") {
  ExecuteOptions options;
  options.warmup = 2;
  const LossOutcome outcome = run_shrinking(two_by_two(2), {.rank = 1}, options);
  require_recovered(outcome, 1, 4);
  REQUIRE(outcome.measurement.iterations.size() == 1);
}

TEST_CASE("shrink: any strategy's plan can be completed", "[executor][tcp][fault]") {
  const char* strategy = GENERATE("direct", "reshard", "gather_broadcast");
  CAPTURE(strategy);
  const M2nCase c{{2, 2, 0}, {2, 4, 1}, {512, 1024}, Dtype::bf16, 4};
  const LossOutcome outcome = run_shrinking(planned(c, strategy), {.rank = 1, .after = 2});
  CAPTURE(outcome.error);
  REQUIRE(outcome.error.empty());
  REQUIRE(outcome.measurement.fault);
  REQUIRE(outcome.measurement.wrong_bytes == 0);
  REQUIRE(outcome.measurement.fault->recovered_bytes == outcome.recovery_bytes);
}

TEST_CASE("shrink: a second loss ends the run", "[executor][tcp][fault]") {
  // Rank 1's replica is rank 3: it must send in the recovery. The recovery's ops are not those of
  // the plan that the caller knows: none is named.
  const LossOutcome outcome = run_shrinking(two_by_two(2), {.rank = 1, .second = 3});
  require_ended_by_rank_3(outcome);
}

TEST_CASE("rebuild: connections are made anew and everything is sent again",
          "[executor][tcp][fault]") {
  const LossOutcome outcome =
      run_shrinking(two_by_two(2), {.rank = 1, .policy = FaultPolicy::rebuild});
  require_rebuilt(outcome);
}

TEST_CASE("inject: a rank is killed at its time in the first timed iteration",
          "[executor][tcp][fault]") {
  const TcpCase c = two_by_two(2);
  TcpOptions tcp = patient();
  tcp.policy = FaultPolicy::shrink;
  tcp.inject = FaultSpec{.rank = Rank(1), .at_s = 0};
  ExecuteOptions options;
  options.warmup = 2;
  options.iterations = 3;
  const Measurement m = run(c, options, tcp);
  REQUIRE(m.fault);
  REQUIRE(m.fault->lost == Rank(1));
  REQUIRE(m.fault->reason == "killed by signal 9 (Killed)");
  REQUIRE(m.iterations.size() == 1);
  REQUIRE(m.wrong_bytes == 0);
}

TEST_CASE("inject: a time after the end does nothing", "[executor][tcp][fault]") {
  TcpOptions tcp = patient();
  tcp.policy = FaultPolicy::shrink;
  tcp.inject = FaultSpec{.rank = Rank(1), .at_s = 1e6};
  const Measurement m = run(two_by_two(2), once(), tcp);
  REQUIRE_FALSE(m.fault);
  REQUIRE(m.wrong_bytes == 0);
}

TEST_CASE("inject: what can't be caused is refused", "[executor][tcp][fault]") {
  const TcpCase c = two_by_two(2);
  TcpOptions tcp;
  tcp.inject = FaultSpec{.rank = Rank(99), .at_s = 0};
  REQUIRE_THROWS_WITH(run(c, once(), tcp),
                      Catch::StartsWith("fault: rank 99 does not exist; ranks are 0 to "));
  tcp.inject = FaultSpec{.rank = Rank(1)};
  REQUIRE_THROWS_WITH(run(c, once(), tcp), "fault: a run needs the time as seconds from its start");
  tcp.inject = FaultSpec{.kind = FaultKind::dark, .rank = Rank(1), .at_s = 0};
  REQUIRE_THROWS_WITH(
      run(c, once(), tcp),
      "fault: this network has no links that could go dark; use --transport tcp --lab");
}

TEST_CASE("shrink: a run without a fault is as ever", "[executor][tcp][fault]") {
  const LossOutcome outcome = run_shrinking(two_by_two(2), {});
  REQUIRE(outcome.error.empty());
  REQUIRE_FALSE(outcome.measurement.fault);
  REQUIRE(outcome.measurement.iterations.size() == 1);
  REQUIRE(outcome.first_bytes == 4 * kShardBytes);
}

}  // namespace refit::test
