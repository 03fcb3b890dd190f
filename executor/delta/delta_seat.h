#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "executor/run_rank.h"

namespace refit {

// How one rank of a run of versions is joined to the others. Collective calls are made by all ranks
// in one order. Every call throws if the run was ended by another rank.
class DeltaSeat {
 public:
  virtual ~DeltaSeat() = default;

  virtual std::vector<std::string> all_gather(std::string_view blob) = 0;  // collective

  // Collective: for one version's moves, which outlive them.
  virtual Transport& connect(const RunContext& context) = 0;
  // Collective: a common moment, from which the moves are timed, on this rank's steady clock.
  virtual double start() = 0;
  // Collective: the moves of all ranks have ended.
  virtual void end() = 0;

  // To where results are put together (detail::RankResults).
  virtual void submit(std::string_view result) = 0;
};

}  // namespace refit
