#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "executor/failure.h"
#include "executor/rank_control.h"
#include "executor/rank_environment.h"
#include "executor/rank_network.h"
#include "executor/run_rank.h"
#include "schedule/fault.h"

namespace refit {

struct ProcessOptions {
  // Where the ranks live. Null: all on loopback, or, in a job that somebody else has started, each
  // at the address by which it reaches rank 0.
  RankNetwork* network = nullptr;
  FailureOptions failure;
  // In such a job: whether the survivors of a lost rank may go on (RankReport::resumable). Rank 0
  // serves the others; its loss always ends the run.
  bool goes_on = false;
};

// Error(bad_input) if the schedule has more ranks than the cluster GPUs, or not as many as the job
// that this process is a rank of.
void check_ranks(const Schedule& schedule, const Cluster& cluster,
                 const std::optional<RankEnvironment>& place);

// Error(bad_input) unless the fault that is asked for can be caused in such a run, and the run can
// outlive it.
void check_fault(const std::optional<FaultSpec>& inject, const Cluster& cluster, bool can_darken);

// Runs `work` in a process per rank of the schedule, with its control connection and its place in
// the network. Without `place` they are started on this machine (launch); with it this process is
// one of them, in a job that mpirun, srun or torchrun has started. What ranks submit() goes to
// `result`: in the caller without `place`, in rank 0 with it.
//
// RankFailure, with the rank and the op in words, if a rank dies, stalls or throws.
void run_processes(const RunContext& context, const std::optional<RankEnvironment>& place,
                   const ProcessOptions& options,
                   const std::function<void(RankControl&, RankNetwork&)>& work,
                   const std::function<void(Rank, std::string_view)>& result);

}  // namespace refit
