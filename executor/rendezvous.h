#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "executor/detail/frame.h"
#include "executor/detail/lateness.h"
#include "executor/detail/reception.h"
#include "executor/detail/socket.h"
#include "executor/failure.h"
#include "executor/rank_control.h"

namespace refit {

// The other end of all control connections: gathers and hands out blobs, opens barriers, collects
// results, and notices who is lost. It belongs to the launcher, or to rank 0 of a job that somebody
// else started.
//
// A rank is lost when its connection closes before it has finished, when it is silent for the
// time-out, when its loop does not turn while it should, when it says so itself, or when a peer's
// data connection to it broke and nothing better is known a moment later. If all ranks only wait,
// and nothing is under way between them, they wait for each other for ever, and the run has failed,
// too. Then every survivor is
// told to stop, sends what it has received, and all get the same Failure. If every survivor says
// that it can complete the iteration without the lost rank, all get each other's reports, too, from
// which they plan what is missing, and the rendezvous serves on without the lost rank. Once: a
// second loss ends the run.
//
// Whoever waits for a processor is silent, too. All processes measure how late they get theirs and
// tell each other, and a silence must be that much longer (FailureOptions::patience_s).
class Rendezvous {
 public:
  Rendezvous(int ranks, const FailureOptions& options);

  // A rank whose connection exists already (a socket pair).
  void adopt(Rank rank, detail::Descriptor socket);
  // Ranks of the job that are still to come here and say who they are.
  void admit(detail::Descriptor listener, std::string job);

  struct Hooks {
    std::function<void(Rank, std::string_view)> result = [](Rank, std::string_view) {};
    // Why a rank's connection has closed, if the owner knows: "killed by signal 9 (Killed)".
    std::function<std::string(Rank)> exit_text = [](Rank) { return std::string(); };
    // Ends a rank that the survivors go on without. Without this hook they never do.
    std::function<void(Rank)> drop;
  };
  // Serves until every rank that is not dropped has finished, or returns why not.
  std::optional<Failure> serve(const Hooks& hooks);

 private:
  enum class State { absent, present, finished, gone, dropped };
  struct Member {
    detail::Descriptor socket;
    detail::FrameReader reader;
    std::string unsent;
    State state = State::absent;
    double heard_s = 0;   // last byte
    double turned_s = 0;  // last time that its loop had turned
    // From when to when it was seen to stand still, with a loop that turns.
    double still_from_s = 0, still_to_s = 0;
    Beat beat;
    std::optional<std::string> blob;  // for the exchange that gathers now
    bool arrived = false;
    bool greeted = false;  // it has spoken; before, it may still find its place in the network
  };

  // rendezvous.cc: the meetings
  void wait(double seconds);
  void introduce(detail::Reception::Guest guest);
  void read(Rank rank);
  void handle(Rank rank, const detail::Frame& frame);
  void complete_meetings();
  void send(Member& member, detail::FrameKind kind, std::string_view body);
  void flush(Member& member);
  void send_beats(double now);

  // rendezvous_loss.cc: who is lost, and what becomes of the others
  void look_for_the_lost(double now);
  void look_for_the_absent(double now);
  void look_for_standstill(double now);
  void suspect(Rank witness, Failure seen);
  Failure most_suspected();
  void resolve_doubt();
  void fail(Failure failure);
  void lose(Rank rank, ErrorCode code, std::string reason);
  double patience_s(double now) const;
  bool all_reported() const;
  bool can_go_on() const;
  void go_on();
  void name_the_move();
  Failure close();

  FailureOptions options_;
  std::vector<Member> members_;
  std::optional<detail::Reception> reception_;
  const Hooks* hooks_ = nullptr;
  double start_s_ = 0, next_beat_s_ = 0;
  detail::Lateness lateness_;  // of this process and all ranks

  struct Suspicion {  // secondhand: a connection broke, and which end it was is not known
    Rank witness;
    Failure failure;
  };
  std::vector<Suspicion> suspicions_;
  double suspicions_end_s_ = 0;
  // One connection broke, and each end may be the lost one: witness and suspect.
  std::optional<std::pair<Rank, Rank>> in_doubt_;
  std::optional<Failure> failure_;
  double reports_end_s_ = 0, noticed_s_ = 0;
  bool went_on_ = false;
  std::vector<std::optional<RankReport>> reports_;
};

}  // namespace refit
