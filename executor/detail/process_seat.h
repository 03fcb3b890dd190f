#pragma once

#include <string>

#include "executor/failure.h"
#include "executor/run_rank.h"
#include "executor/thread_run.h"
#include "schedule/fault.h"

namespace refit::detail {

// What a rank that is a process works with: how it is joined to the others, which one of them may
// be lost.
class ProcessSeat : public RankSeat {
 public:
  // Collective: joins all ranks, for the run's own plan.
  virtual void connect() = 0;
  // Collective among the survivors, once all know who is lost: ends what is under way by the old
  // connections, then joins the rest for the recovery's plan, which outlives its moves.
  virtual void reconnect(const RunContext& recovery, Rank lost) = 0;
  // All ranks run under one kernel: their steady clocks are one. Known once connected.
  virtual bool one_host() const = 0;

  // What has arrived and what is open, also after the transport has thrown, and before.
  virtual RankReport report() = 0;
  // After an error of the transport that does not say who is lost: waits a moment for the control
  // connection to know it.
  virtual void await_cause() {}
  // The run is over: nothing may go on that touches memory which is about to be freed.
  virtual void abort(const std::string& reason) noexcept { (void)reason; }
  // The links that the fault names carry nothing any more. Only where the network can do so.
  virtual void darken(const FaultSpec& fault) { (void)fault; }

  // What its own results (RankResults::add_of_seat) are told of the iteration that has ended, and
  // at the end of the run; empty: nothing.
  virtual std::string measured() { return {}; }
  virtual std::string facts() { return {}; }
};

}  // namespace refit::detail
