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
struct NcclSeat {
  int device = 0;
  // All ranks are on one machine, whose steady clock they share: they start at one moment.
  bool one_host = true;
};

// One rank's whole part in a run over NCCL: takes its GPU, makes its communicators, runs all
// iterations, submits what it measured. If it fails, its communicators are aborted before the error
// leaves.
void run_nccl_rank(const RunContext& context, const CudaOptions& options, const NcclSeat& seat,
                   RankControl& control);

// Puts together what the ranks submit.
class NcclResults {
 public:
  NcclResults(const RunContext& context, const CudaOptions& options);

  // Error(environment) if it is not what a rank of this run submits.
  void add(Rank rank, std::string_view submitted);
  Measurement finish();

 private:
  detail::RankResults results_;
  std::vector<WaveTimes> times_;  // of every rank, in the last iteration
};

}  // namespace refit
