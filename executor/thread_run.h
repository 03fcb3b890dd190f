#pragma once

#include <functional>
#include <memory>
#include <string>

#include "executor/execute.h"
#include "executor/memory_space.h"
#include "executor/op_times.h"
#include "executor/transport.h"

namespace refit {

// What one rank's thread works with; made, used and dropped in that thread.
class RankSeat {
 public:
  virtual ~RankSeat() = default;
  virtual MemorySpace& memory() = 0;
  virtual Transport& transport() = 0;
  virtual void begin_iteration() {}  // of this rank; before the common start
  // All its messages have ended; for a transport that knows their times better.
  virtual void end_iteration(const Schedule&, double /*clock_zero_s*/, OpTimes&) {}
};

struct ThreadRunParts {
  std::string transport;  // Measurement::transport
  std::function<std::unique_ptr<RankSeat>(Rank, const Moves&)> seat;
  std::function<void(const std::string& reason)> abort;  // wakes ranks that wait; any thread
};

// Runs a schedule with one thread per rank in this process, iteration by iteration from a common
// start. The first error of any rank ends the run and is thrown.
Measurement run_on_threads(const Schedule& schedule, const Refit& refit, const Cluster& cluster,
                           const ExecuteOptions& options, const ThreadRunParts& parts);

}  // namespace refit
