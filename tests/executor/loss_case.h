#pragma once

#include <catch2/catch.hpp>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "executor/loss_options.h"
#include "schedule/builder.h"
#include "tests/executor/tcp_case.h"

// A rank that is lost in the middle of a refit, over any transport between processes.
namespace refit::test {

// Bytes that arrived, over all processes, by the first plan and by the recovery's.
class SharedCounts {
 public:
  SharedCounts()
      : bytes_(static_cast<std::atomic<std::int64_t>*>(
            mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
    new (bytes_) std::atomic<std::int64_t>[4] {};
  }
  ~SharedCounts() { munmap(bytes_, kSize); }
  SharedCounts(const SharedCounts&) = delete;
  SharedCounts& operator=(const SharedCounts&) = delete;

  std::atomic<std::int64_t>& of_plan(int plan) const { return bytes_[plan]; }

 private:
  static constexpr std::size_t kSize = 4096;
  std::atomic<std::int64_t>* bytes_;
};

inline void die() { kill(getpid(), SIGKILL); }
inline void stop() { kill(getpid(), SIGSTOP); }
inline void find_wrong_bytes() { throw Error(ErrorCode::check_failed, "wrong bytes"); }

// Counts what arrives; does something once `lifetime` of its messages have ended.
class Counting : public Tampering {
 public:
  Counting(std::unique_ptr<Transport> real, std::atomic<std::int64_t>& bytes, int lifetime,
           void (*act)())
      : Tampering(std::move(real)), bytes_(bytes), left_(lifetime), act_(act) {}

  void receive(Message message) override {
    size_[message.move] = message.bytes;
    Tampering::receive(std::move(message));
  }

 private:
  void after_wait(const std::vector<Ended>& ended) override {
    for (const Ended& e : ended) {
      if (!e.sent) bytes_ += size_.at(e.move);
      if (--left_ == 0) act_();
    }
  }
  std::atomic<std::int64_t>& bytes_;
  std::map<std::uint32_t, std::int64_t> size_;
  int left_;
  void (*act_)();
};

constexpr int kForever = 1 << 30;

struct LossOutcome {
  Measurement measurement;
  std::string error;  // empty: it has finished
  ErrorCode code = ErrorCode::environment;
  std::int64_t first_bytes = 0, recovery_bytes = 0;
};

struct Blow {
  int rank = -1;  // nobody
  int after = 8;  // messages of the first plan
  void (*act)() = die;
  int second = -1;  // a rank that dies after its first message of the recovery
  FailureOptions failure = patient().failure;
  FaultPolicy policy = FaultPolicy::shrink;
};

// Runs it, with processes that blow and counts are wrapped around. Nothing may be left behind.
inline LossOutcome run_losing(const Blow& blow,
                              const std::function<Measurement(const LossOptions&)>& run) {
  const SharedCounts counts;
  LossOptions loss;
  loss.failure = blow.failure;
  loss.policy = blow.policy;
  loss.wrap = [&, plan = 0](Rank rank, std::unique_ptr<Transport> real) mutable {
    int lifetime = kForever;
    if (plan == 0 && rank.value == blow.rank) lifetime = blow.after;
    if (plan == 1 && rank.value == blow.second) lifetime = 1;
    return std::make_unique<Counting>(std::move(real), counts.of_plan(plan++), lifetime, blow.act);
  };
  const auto descriptors = open_descriptors();
  const auto begin = std::chrono::steady_clock::now();
  LossOutcome outcome;
  try {
    outcome.measurement = run(loss);
  } catch (const Error& error) {
    outcome.error = error.what();
    outcome.code = error.code();
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  CAPTURE(outcome.error, seconds);
  REQUIRE(seconds < patient().failure.timeout_s);  // nobody has waited for the dead
  REQUIRE(open_descriptors() == descriptors);
  REQUIRE(waitpid(-1, nullptr, WNOHANG) == -1);
  REQUIRE(errno == ECHILD);
  outcome.first_bytes = counts.of_plan(0);
  outcome.recovery_bytes = counts.of_plan(1);
  return outcome;
}

// 16 MiB in `replicas` x 2 shards to 2 x 2: each destination gets its shard of 8 MiB from one
// source (of two replicas, from its own), in 16 messages that follow each other.
inline TcpCase two_by_two(int replicas) {
  TcpCase c = planned({{replicas, 2, 0}, {2, 2, 0}, {2048, 4096}, Dtype::bf16, 1}, "direct");
  std::vector<Parcel> parcels = c.schedule.parcels;
  for (Parcel& parcel : parcels) parcel.chunks = 16;
  ScheduleBuilder builder(c.refit, "in sixteen", parcels, 1);
  builder.begin_phase("direct");
  for (int chunk = 0; chunk < 16; ++chunk) {
    for (std::size_t p = 0; p < parcels.size(); ++p) {
      const CargoId cargo = builder.cargo({ParcelId(static_cast<std::int64_t>(p))});
      const Parcel& parcel = parcels[p];
      for (std::size_t d = 0; d < parcel.demanders.size(); ++d)
        builder.transfer({0, chunk}, parcel.owners[d % parcel.owners.size()], parcel.demanders[d],
                         cargo, {chunk, chunk + 1});
    }
  }
  c.schedule = std::move(builder).finish();
  REQUIRE(verify(c.schedule, c.refit).empty());
  return c;
}

constexpr std::int64_t kShardBytes = 8 << 20;

inline void require_recovered(const LossOutcome& outcome, int lost, int destinations) {
  CAPTURE(outcome.error);
  REQUIRE(outcome.error.empty());
  const Measurement& m = outcome.measurement;
  REQUIRE(m.wrong_bytes == 0);
  REQUIRE(m.fault);
  REQUIRE(m.fault->lost == Rank(lost));
  REQUIRE(m.fault->detected_s >= 0);
  REQUIRE(m.iterations.back().seconds >= m.fault->detected_s);
  // Poisoned destinations are right, so everything has arrived; no more has than all of it, so
  // nothing has arrived twice.
  REQUIRE(m.fault->recovered_bytes == outcome.recovery_bytes);
  REQUIRE(outcome.first_bytes + outcome.recovery_bytes <= destinations * kShardBytes);
}

// Rank 3 dies in the recovery of another rank's loss. The recovery's ops are not those of the plan
// that the caller knows: none is named.
inline void require_ended_by_rank_3(const LossOutcome& outcome) {
  REQUIRE(outcome.code == ErrorCode::environment);
  REQUIRE_THAT(outcome.error, Catch::StartsWith("rank 3, ") && !Catch::Contains(", op ") &&
                                  Catch::EndsWith(": killed by signal 9 (Killed)"));
}

// All of two_by_two(2) is sent again over new connections.
inline void require_rebuilt(const LossOutcome& outcome) {
  CAPTURE(outcome.error);
  REQUIRE(outcome.error.empty());
  const Measurement& m = outcome.measurement;
  REQUIRE(m.wrong_bytes == 0);
  REQUIRE(m.fault);
  REQUIRE(m.fault->policy == FaultPolicy::rebuild);
  REQUIRE(m.fault->reconnected_s > m.fault->detected_s);
  REQUIRE(m.fault->recovered_bytes == 4 * kShardBytes);
}

}  // namespace refit::test
