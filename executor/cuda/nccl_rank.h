#pragma once

#include <string_view>
#include <vector>

#include "executor/cuda/execute_cuda.h"
#include "executor/cuda/wave_transport.h"
#include "executor/detail/rank_results.h"
#include "executor/rank_control.h"
#include "executor/run_rank.h"

namespace refit {

// Where one rank of a run over NCCL runs.
struct NcclPlace {
  int device = 0;
  // All ranks are on one machine, whose steady clock they share: they start at one moment.
  bool one_host = true;
};

// One rank's whole part in a run over NCCL (detail/process_rank.h) on its GPU. If the run fails,
// its communicators are aborted before the error leaves.
void run_nccl_rank(const RunContext& context, const CudaOptions& options, const NcclPlace& place,
                   RankControl& control);

// Puts together what the ranks submit.
class NcclResults : public detail::RankResults {
 public:
  NcclResults(const RunContext& context, const CudaOptions& options);
  Measurement finish() override;

 private:
  void add_of_seat(Rank rank, std::string_view words) override;

  std::vector<WaveTimes> times_;  // of every rank, in the last iteration
};

}  // namespace refit
