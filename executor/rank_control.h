#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "executor/detail/frame.h"
#include "executor/detail/socket.h"
#include "executor/failure.h"

namespace refit {

// What survivors agree on after a failure.
struct Verdict {
  Failure failure;
  double noticed_s = 0;             // by the rendezvous, on its steady clock
  std::vector<RankReport> reports;  // of every rank if the survivors go on without the lost one;
                                    // empty if the run is over
};

std::string encode(const Verdict& verdict);
Verdict decode_verdict(std::string_view in);

// One rank's end of the control connection to the rendezvous: exchanges and barriers before and
// between refits, a heartbeat all the time, and the one story of how a run failed.
//
// The heartbeat has its own thread, since filling and checking content takes longer than the time
// in which a dead rank must be noticed. A beat carries the phase and a count of the turns of the
// rank's loop: a stopped process sends no beats, and one whose loop hangs sends equal counts. It
// also tells how late the thread got its turn; the rendezvous answers with the worst of all ranks.
// And it tells whether the rank stands still: when all do, they wait for each other.
class RankControl {
 public:
  // `job`: what the rendezvous was told to admit.
  RankControl(Rank rank, int ranks, detail::Descriptor socket, const FailureOptions& options,
              const std::string& job = {});
  ~RankControl();
  RankControl(const RankControl&) = delete;
  RankControl& operator=(const RankControl&) = delete;

  Rank rank() const { return rank_; }
  int ranks() const { return ranks_; }
  const FailureOptions& options() const { return options_; }
  // How often a loop should turn and look at the control connection.
  double tick_s() const { return options_.tick_s(); }
  // What the time-out is to be exceeded by, as processors are short.
  double patience_s() const;

  // Collective: all ranks call these in the same order. The blob of a lost rank is empty.
  std::vector<std::string> all_gather(std::string_view blob);
  double maximum(double value);
  double sum(double value);
  // Returns when to go on, on the rendezvous' steady clock: a moment after the last rank has come.
  double barrier();

  // For the process that owns the rendezvous.
  void submit(std::string_view result);

  void enter(RankPhase phase) { phase_ = phase; }
  // Called while this rank waits in a barrier or an exchange, once per tick.
  void while_waiting(std::function<void()> look) { look_ = std::move(look); }

  // For the data loop: the socket to watch, and what to do when it can be read and at every tick.
  int fd() const { return socket_.get(); }
  void turned() { ++turns_; }
  void working_on(std::optional<std::uint32_t> move);  // the oldest that is open
  // Something was sent, received or has ended.
  void progressed() { ++progress_; }
  // Whether this rank only waits, and all that it has sent has arrived or can't: its peers take no
  // more. Until it goes on or says otherwise.
  void stands(bool still) { stands_ = still; }
  // Error(environment) if the run was stopped or the rendezvous is lost.
  void check();

  // The end. Without it the rendezvous takes the closed connection for a death.
  void finish();
  // Once stopped: two ranks whose connection broke, if nobody knows which of them is lost.
  const std::vector<Rank>& suspects() const { return suspects_; }
  // What to send when the run is stopped.
  void note(RankReport report) { report_ = std::move(report); }
  // Tells what ended this rank's work (if the rendezvous does not know yet) and returns what all
  // survivors agree on. If they go on, this connection does, too: meetings are between survivors.
  Verdict agree(const std::exception& error);

 private:
  void send(detail::FrameKind kind, std::string_view body);
  detail::Frame await(detail::FrameKind kind);
  detail::Frame meet(detail::FrameKind arrival, std::string_view blob, detail::FrameKind end);
  void beat();
  [[noreturn]] void lose(const std::string& why);

  const Rank rank_;
  const int ranks_;
  const FailureOptions options_;
  detail::Descriptor socket_;
  detail::FrameReader reader_;
  std::vector<detail::Frame> inbox_;
  std::function<void()> look_;
  RankReport report_;
  bool stopped_ = false;  // the rendezvous has told us to stop
  std::vector<Rank> suspects_;
  std::string lost_;  // why there is no rendezvous any more
  double last_heard_s_ = 0, last_check_s_ = 0;
  double all_late_s_ = 0;  // as the rendezvous has told

  std::atomic<RankPhase> phase_{RankPhase::starting};
  std::atomic<std::uint64_t> turns_{0}, progress_{0}, move_{~std::uint64_t{0}};
  std::atomic<bool> stands_{false};
  std::atomic<double> late_s_{0};  // of the heartbeat
  std::mutex sending_;
  detail::Descriptor wake_, woken_;  // closing wake_ ends the heartbeat
  std::thread heart_;
};

// What a beat says.
struct Beat {
  RankPhase phase = RankPhase::starting;
  std::uint32_t stands = 0;
  std::uint64_t turns = 0;
  std::uint64_t move = 0;
  double late_s = 0;
  std::uint64_t progress = 0;
};

}  // namespace refit
