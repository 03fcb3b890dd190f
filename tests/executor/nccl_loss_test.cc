// A rank that is lost in a run over NCCL, and how the others go on: ranks as processes, on
// stand-ins for CUDA and NCCL.
#include <random>

#include <nccl.h>

#include "executor/cuda/execute_cuda.h"
#include "executor/detail/socket.h"
#include "tests/executor/loss_case.h"
#include "tests/fakes/fake_cuda_nccl.h"

namespace refit::test {
namespace {

CudaOptions with(const LossOptions& loss, const ExecuteOptions& options = once()) {
  CudaOptions cuda;
  static_cast<LossOptions&>(cuda) = loss;
  cuda.run = options;
  return cuda;
}

Measurement run_nccl(const TcpCase& c, const CudaOptions& options) {
  fake::end_with_faults();
  return execute_nccl(c.schedule, c.refit, c.cluster, std::nullopt, options);
}

LossOutcome run_losing(const TcpCase& c, const Blow& blow, const ExecuteOptions& options = once()) {
  return run_losing(blow,
                    [&](const LossOptions& loss) { return run_nccl(c, with(loss, options)); });
}

std::string fact(const Measurement& m, const std::string& key) {
  for (const auto& [name, value] : m.environment)
    if (name == key) return value;
  return {};
}

constexpr const char* kSmaller = "smaller by ncclCommShrink after the loss";
constexpr const char* kAnew = "made anew after the loss";

// How survivors of a killed rank go on with policy shrink: NCCL before 2.28.7 does not shrink a
// communicator that has met an error.
constexpr const char* kShrunk = NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 7) ? kSmaller : kAnew;

}  // namespace

TEST_CASE("nccl shrink: a replica takes over what a killed source had not sent yet",
          "[nccl][fault]") {
  const LossOutcome outcome = run_losing(two_by_two(2), {.rank = 1});
  require_recovered(outcome, 1, 4);
  const Measurement& m = outcome.measurement;
  REQUIRE(m.transport == "nccl");
  REQUIRE(m.fault->reason == "killed by signal 9 (Killed)");
  REQUIRE(m.fault->reconnected_s > m.fault->detected_s);
  REQUIRE(m.fault->dropped.empty());
  // Rank 1 had 8 of its 16 messages to one destination through, and it is the only one it sends to.
  REQUIRE(m.fault->recovered_bytes > 0);
  REQUIRE(m.fault->recovered_bytes < 4 * kShardBytes);
  REQUIRE(fact(m, "communicators") == kShrunk);
}

TEST_CASE("nccl shrink: rank 0 is no more than any other rank", "[nccl][fault]") {
  const LossOutcome outcome = run_losing(two_by_two(2), {.rank = 0});
  require_recovered(outcome, 0, 4);
  REQUIRE(outcome.measurement.fault->recovered_bytes > 0);
  REQUIRE(fact(outcome.measurement, "gpu") == "stand-in on host memory");
}

TEST_CASE(
    "nccl shrink: a stopped rank is missed within the time-out and ended before the others "
    "go on",
    "[nccl][fault]") {
  const LossOutcome outcome =
      run_losing(two_by_two(2), {.rank = 1, .act = stop, .failure = FailureOptions{}});
  require_recovered(outcome, 1, 4);
  REQUIRE_THAT(outcome.measurement.fault->reason, Catch::Contains("not heard from for 0."));
}

TEST_CASE("nccl shrink: a lost destination is dropped and the others get all of theirs",
          "[nccl][fault]") {
  const LossOutcome outcome = run_losing(two_by_two(2), {.rank = 6});
  require_recovered(outcome, 6, 4);
  REQUIRE(outcome.measurement.fault->dropped == std::vector{Rank(6)});
}

TEST_CASE(
    "nccl shrink: where shrinking fails, communicators are made anew and only what is "
    "missing is sent",
    "[nccl][fault]") {
  fake::refuse_shrinks(true);
  const LossOutcome outcome = run_losing(two_by_two(2), {.rank = 1});
  fake::refuse_shrinks(false);
  require_recovered(outcome, 1, 4);
  REQUIRE(outcome.measurement.fault->recovered_bytes < 4 * kShardBytes);
  REQUIRE(fact(outcome.measurement, "communicators") == kAnew);
}

TEST_CASE(
    "nccl shrink: when bytes are lost for good, the tensor is named and destinations keep "
    "the refit before, whole",
    "[nccl][fault]") {
  // Iterations 0 and 1 are whole; in the third the only holder of half the tensor dies halfway.
  const TcpCase c = two_by_two(1);
  const SharedCounts counts;  // 0: survivors that looked, 1 and 2: wrong bytes they found
  LossOptions loss;
  loss.failure = patient().failure;
  loss.policy = FaultPolicy::shrink;
  loss.wrap = [&](Rank rank, std::unique_ptr<Transport> real) {
    const int lifetime = rank.value == 1 ? 2 * 32 + 16 : kForever;
    return std::make_unique<Counting>(std::move(real), counts.of_plan(3), lifetime, die);
  };
  loss.aborted = [&](const RankMemory& memory, std::optional<std::uint64_t> seed) {
    counts.of_plan(0) += 1;
    counts.of_plan(1) += seed ? memory.count_wrong_published(*seed) : 1;
    counts.of_plan(2) += memory.count_wrong_published(seed.value_or(0) + 1);
  };
  ExecuteOptions options;
  options.warmup = 1;
  options.iterations = 4;
  try {
    run_nccl(c, with(loss, options));
    FAIL("it ran");
  } catch (const Error& error) {
    REQUIRE(error.code() == ErrorCode::check_failed);
    REQUIRE_THAT(error.what(),
                 Catch::StartsWith("rank 1, ") &&
                     Catch::Contains("killed by signal 9 (Killed); no other rank has all bytes of "
                                     "w:") &&
                     Catch::EndsWith("destinations are not committed"));
  }
  REQUIRE(counts.of_plan(0) == c.schedule.ranks - 1);
  REQUIRE(counts.of_plan(1) == 0);
  REQUIRE(counts.of_plan(2) > 0);  // the look can fail
}

TEST_CASE("nccl shrink: wrong bytes are no loss and end the run", "[nccl][fault]") {
  const LossOutcome outcome = run_losing(two_by_two(2), {.rank = 1, .act = find_wrong_bytes});
  REQUIRE(outcome.code == ErrorCode::check_failed);
  REQUIRE_THAT(outcome.error, Catch::StartsWith("rank 1, ") && Catch::EndsWith(": wrong bytes"));
}

TEST_CASE("nccl shrink: the run ends with the iteration that had the fault", "[nccl][fault]") {
  // 16 messages an iteration: the fault is in the second timed one, the third of all.
  ExecuteOptions options;
  options.warmup = 1;
  options.iterations = 4;
  const LossOutcome outcome = run_losing(two_by_two(2), {.rank = 1, .after = 2 * 16 + 8}, options);
  CAPTURE(outcome.error);
  REQUIRE(outcome.measurement.fault);
  REQUIRE(outcome.measurement.iterations.size() == 2);
  REQUIRE(outcome.measurement.wrong_bytes == 0);
}

TEST_CASE("nccl shrink: any strategy's plan can be completed", "[nccl][fault]") {
  const char* strategy = GENERATE("direct", "reshard", "gather_broadcast");
  CAPTURE(strategy);
  const M2nCase c{{2, 2, 0}, {2, 4, 1}, {512, 1024}, Dtype::bf16, 4};
  const LossOutcome outcome = run_losing(planned(c, strategy), {.rank = 1, .after = 2});
  CAPTURE(outcome.error);
  REQUIRE(outcome.error.empty());
  REQUIRE(outcome.measurement.fault);
  REQUIRE(outcome.measurement.wrong_bytes == 0);
  REQUIRE(outcome.measurement.fault->recovered_bytes == outcome.recovery_bytes);
}

TEST_CASE("nccl shrink: whoever is lost and whenever, no byte is wrong", "[nccl][fault]") {
  const unsigned seed = GENERATE(range(1u, 17u));
  std::mt19937 random(seed);
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution(low, high)(random);
  };
  const char* strategies[] = {"direct", "reshard", "gather_broadcast", "hybrid"};
  const char* strategy = strategies[pick(0, 3)];
  // Two source replicas: any one rank can be done without.
  const M2nCase c{
      {2, 2, 0}, {pick(1, 2), 2, pick(0, 1)}, {2 * pick(15, 45), 2 * pick(15, 45)}, Dtype::bf16, 4};
  PlanOptions plan;
  plan.chunks = pick(1, 4);
  const TcpCase planned_case = planned(c, strategy, plan);
  const Blow blow{.rank = pick(0, planned_case.schedule.ranks - 1), .after = pick(1, 8)};
  CAPTURE(seed, strategy, c.shape, plan.chunks, blow.rank, blow.after);
  const LossOutcome outcome = run_losing(planned_case, blow);
  CAPTURE(outcome.error);
  REQUIRE(outcome.error.empty());
  REQUIRE(outcome.measurement.wrong_bytes == 0);
  if (const auto& fault = outcome.measurement.fault) {
    REQUIRE(fault->lost == Rank(blow.rank));
    REQUIRE(fault->recovered_bytes == outcome.recovery_bytes);
  }
}

TEST_CASE("nccl shrink: a second loss ends the run", "[nccl][fault]") {
  // Rank 1's replica is rank 3: it must send in the recovery.
  const LossOutcome outcome = run_losing(two_by_two(2), {.rank = 1, .second = 3});
  require_ended_by_rank_3(outcome);
}

TEST_CASE("nccl rebuild: communicators are made anew and everything is sent again",
          "[nccl][fault]") {
  const LossOutcome outcome =
      run_losing(two_by_two(2), {.rank = 1, .policy = FaultPolicy::rebuild});
  require_rebuilt(outcome);
  REQUIRE(fact(outcome.measurement, "communicators") == kAnew);
}

TEST_CASE("nccl: a run without a fault shrinks nothing", "[nccl][fault]") {
  const LossOutcome outcome = run_losing(two_by_two(2), {});
  REQUIRE(outcome.error.empty());
  REQUIRE_FALSE(outcome.measurement.fault);
  REQUIRE(fact(outcome.measurement, "communicators").empty());
  REQUIRE(outcome.first_bytes == 4 * kShardBytes);
}

TEST_CASE("nccl inject: a rank is killed at its time, and links can't go dark", "[nccl][fault]") {
  const TcpCase c = two_by_two(2);
  LossOptions loss;
  loss.failure = patient().failure;
  loss.policy = FaultPolicy::shrink;
  loss.inject = FaultSpec{.rank = Rank(1), .at_s = 0};
  const Measurement m = run_nccl(c, with(loss));
  REQUIRE(m.fault);
  REQUIRE(m.fault->lost == Rank(1));
  REQUIRE(m.wrong_bytes == 0);
  loss.inject->kind = FaultKind::dark;
  REQUIRE_THROWS_WITH(
      run_nccl(c, with(loss)),
      "fault: this network has no links that could go dark; use --transport tcp --lab");
}

TEST_CASE("nccl shrink: ranks that somebody else has started go on, too", "[nccl][fault]") {
  const TcpCase c = two_by_two(2);
  const int port = detail::port_of(detail::listen_on("127.0.0.1", 0, {}));
  RankEnvironment place{"refit", Rank(0), c.schedule.ranks, 0, "127.0.0.1", port};
  const SharedCounts counts;
  LossOptions loss;
  loss.failure = patient().failure;
  loss.policy = FaultPolicy::shrink;
  loss.wrap = [&, plan = 0](Rank rank, std::unique_ptr<Transport> real) mutable {
    const int lifetime = plan == 0 && rank == Rank(1) ? 8 : kForever;
    return std::make_unique<Counting>(std::move(real), counts.of_plan(plan++), lifetime, die);
  };
  fake::end_with_faults();
  std::vector<pid_t> pids;
  for (int r = 1; r < place.ranks; ++r) {
    const pid_t pid = fork();
    if (pid == 0) {
      place.rank = Rank(r);
      place.local_rank = r;
      try {
        execute_nccl(c.schedule, c.refit, c.cluster, place, with(loss));
        _exit(0);
      } catch (const std::exception&) {
        _exit(2);
      }
    }
    pids.push_back(pid);
  }
  const Measurement m = execute_nccl(c.schedule, c.refit, c.cluster, place, with(loss));
  REQUIRE(m.wrong_bytes == 0);
  REQUIRE(m.fault);
  REQUIRE(m.fault->lost == Rank(1));
  REQUIRE(m.fault->recovered_bytes == counts.of_plan(1));
  for (std::size_t i = 0; i < pids.size(); ++i) {
    int status = -1;
    waitpid(pids[i], &status, 0);
    if (i == 0) {
      REQUIRE(WIFSIGNALED(status));
    } else {
      REQUIRE(status == 0);
    }
  }
}

}  // namespace refit::test
