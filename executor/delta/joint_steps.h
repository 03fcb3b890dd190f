#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "executor/delta/delta_rank.h"
#include "executor/delta/delta_seat.h"

namespace refit {

// The steps of a version that all ranks take, or none. Who lacks something for a step asks whoever
// has coded it, and the step is tried again. The answers take the control connection: it is little,
// and whatever spoilt it elsewhere is not in the way.
class JointSteps {
 public:
  // `first_coder`, by chunk: the first rank that has it. `arrived` is told of chunks that have come
  // again.
  JointSteps(DeltaSeat& seat, DeltaRank& rank, std::uint64_t version,
             const std::vector<std::optional<std::size_t>>& first_coder,
             std::function<void(std::size_t chunk)> arrived);

  // Collective. Once nobody lacks anything: what each rank's weights will be. Error(check_failed)
  // on all ranks, "version 7 `otherwise`: why", if one of them can't.
  std::vector<Hash128> take(const std::function<Lacks()>& step, const char* otherwise);

  // What had to be brought again, over all ranks.
  std::uint64_t asked_again() const { return asked_again_; }

 private:
  struct Finding;

  std::vector<Finding> exchange(const Finding& own, const char* otherwise);
  void bring(const std::vector<Finding>& findings, const std::vector<Lack>& own);

  DeltaSeat& seat_;
  DeltaRank& rank_;
  std::uint64_t version_;
  const std::vector<std::optional<std::size_t>>& first_coder_;
  std::function<void(std::size_t)> arrived_;
  std::uint64_t asked_again_ = 0;
};

}  // namespace refit
