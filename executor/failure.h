#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/id.h"

namespace refit {

// What a rank is doing, as its heartbeat tells it.
enum class RankPhase : std::uint32_t { starting, preparing, waiting, moving, checking };

std::string_view to_string(RankPhase phase);

// Why a run of several processes ended early; all survivors hold the same one, unless one is alone.
struct Failure {
  Rank rank;  // that is lost or went wrong
  RankPhase phase = RankPhase::starting;
  std::optional<std::uint32_t> move;  // the first that was open with it
  ErrorCode code = ErrorCode::environment;
  std::string reason;  // "killed by signal 9 (Killed)"
  // Only this rank says so: it has lost the rendezvous, and with it the others.
  bool alone = false;
};

// What a survivor knew when it was told to stop: all that a new plan for the missing bytes needs.
struct RankReport {
  std::vector<std::uint64_t> received;  // a bit per move
  struct Open {
    std::uint32_t move = 0;
    Rank peer;
  };
  std::vector<Open> open;  // started and not ended
  // Of two ranks whose connection broke, those that this one can't reach either.
  std::vector<Rank> unreachable;
  // The iteration that it can complete without the lost rank, by a new plan.
  std::optional<std::int32_t> resumable;

  bool has(std::size_t move) const {
    return move / 64 < received.size() && (received[move / 64] >> (move % 64) & 1) != 0;
  }
};

struct FailureOptions {
  double timeout_s = 0.5;       // a silent rank or link is lost within this time
  double stall_timeout_s = 5;   // a live process whose data loop does not turn
  double start_timeout_s = 30;  // for all ranks to come to the rendezvous

  // How often each rank is heard from and looked after.
  double tick_s() const { return timeout_s / 10; }
  // Silence that counts as loss: what is left for the look that finds it and for telling.
  double silence_s() const { return timeout_s - 1.5 * tick_s(); }
  // How long a closed or silent data connection may wait for its better known cause: the death of
  // a process closes its control connection at the same moment.
  double suspicion_s() const { return tick_s() < 0.05 ? tick_s() : 0.05; }
  // What a silence may last longer where processes get their turn this late: who was the latest of
  // all just now may well be twice as late the next time, and so may who passes its word on.
  double patience_s(double lateness_s) const { return 4 * lateness_s; }
  // In which a lateness is forgotten.
  double memory_s() const { return 2 * timeout_s; }
};

// The run has ended by a Failure.
class RankFailure : public Error {
 public:
  explicit RankFailure(Failure failure);
  RankFailure(Failure failure, const std::string& message)
      : Error(failure.code, message), failure_(std::move(failure)) {}

  const Failure& failure() const { return failure_; }

 private:
  Failure failure_;
};

// A data connection broke or went dark: the peer is suspected until the rendezvous knows better.
class PeerLost : public Error {
 public:
  PeerLost(Rank peer, std::optional<std::uint32_t> move, const std::string& what)
      : Error(ErrorCode::environment, what), peer_(peer), move_(move) {}

  Rank peer() const { return peer_; }
  std::optional<std::uint32_t> move() const { return move_; }

 private:
  Rank peer_;
  std::optional<std::uint32_t> move_;
};

// A message that is not what both ends have agreed on, or that can never begin: nobody is lost.
class WrongMessage : public Error {
 public:
  WrongMessage(std::uint32_t move, const std::string& what)
      : Error(ErrorCode::check_failed, what), move_(move) {}

  std::uint32_t move() const { return move_; }

 private:
  std::uint32_t move_;
};

std::string encode(const Failure& failure);
Failure decode_failure(std::string_view in);
std::string encode(const RankReport& report);
RankReport decode_report(std::string_view in);

}  // namespace refit
