#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "executor/failure.h"
#include "executor/rank_memory.h"
#include "executor/transport.h"
#include "schedule/fault.h"

namespace refit {

// How a run whose ranks are processes notices that one is lost, and what becomes of the others.
struct LossOptions {
  FailureOptions failure;
  // shrink, rebuild: a run that has lost a rank ends with the iteration in which it did, completed
  // by the others, also if that was a warm-up. It is the last of Measurement::iterations; the rest
  // is not run. shrink: what a collective brought counts as missing.
  FaultPolicy policy = FaultPolicy::fail;
  // Caused in the first timed iteration. Needs at_s; links go dark only where the network can do
  // so (tcp in a lab), else Error(bad_input).
  std::optional<FaultSpec> inject;
  // Called in every survivor of a run that ended early, with the seed of the refit that was
  // committed last, if one was; tests look at what an engine would read.
  std::function<void(const RankMemory&, std::optional<std::uint64_t>)> aborted;
  // Stands between a rank and its transport; tests break things here.
  std::function<std::unique_ptr<Transport>(Rank, std::unique_ptr<Transport>)> wrap;

  bool goes_on() const { return policy != FaultPolicy::fail; }
  std::unique_ptr<Transport> wrapped(Rank rank, std::unique_ptr<Transport> real) const {
    return wrap ? wrap(rank, std::move(real)) : std::move(real);
  }
};

}  // namespace refit
