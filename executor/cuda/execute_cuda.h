#pragma once

#include <optional>

#include "executor/execute.h"
#include "executor/loss_options.h"
#include "executor/measurement.h"
#include "executor/rank_environment.h"
#include "executor/rank_network.h"

// Running a schedule on GPUs. No CUDA or NCCL type shows here.
namespace refit {

// What is said about lost ranks is for runs over NCCL: ranks that are threads are not lost.
struct CudaOptions : LossOptions {
  ExecuteOptions run;
  int device = 0;  // of this process
  // Messages longer than this travel in pieces; a multiple of 16.
  std::int64_t piece_bytes = 64 << 20;
  double timeout_s = 60;  // without any message ending
};

// All ranks as threads on one GPU: each has its own memory, streams and staging there, and messages
// are copies on the device. Proves packing, lanes, events and every byte of a schedule that fits;
// says nothing about the time on a network.
Measurement execute_cuda_local(const Schedule& schedule, const Refit& refit, const Cluster& cluster,
                               const CudaOptions& options = {});

// A process per rank over NCCL, each with a GPU of its own. Without `place` they are started on
// this machine, rank r with GPU r, in the places of `network` if there is one; the caller has one
// thread and has not used CUDA. With it this process is one rank of a job that mpirun, srun or
// torchrun has started, and takes the GPU of its local rank; rank 0 returns the measurement, the
// others an empty one. RankFailure (an Error) if a rank dies, stalls or goes wrong: which, and in
// which op; with policies shrink and rebuild as execute_tcp does.
Measurement execute_nccl(const Schedule& schedule, const Refit& refit, const Cluster& cluster,
                         const std::optional<RankEnvironment>& place,
                         const CudaOptions& options = {}, RankNetwork* network = nullptr);

// GPUs that this process can use. Error(environment) in plain words if there is no driver or GPU.
int count_gpus();

}  // namespace refit
