#pragma once

#include <functional>
#include <string>
#include <vector>

#include "executor/execute.h"
#include "executor/measurement.h"

// Running a schedule on GPUs. No CUDA or NCCL type shows here.
namespace refit {

struct CudaOptions {
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

// How the processes of a run talk outside NCCL.
struct Gathering {
  // Collective: gives every rank everybody's text in rank order, once all have come.
  std::function<std::vector<std::string>(const std::string& mine)> all_gather;
  // Called often while this rank waits; throws Error if it is known that the run is lost.
  std::function<void()> check = [] {};
};

// One rank of a run over NCCL; every rank's process calls it with the same schedule and options.
// All return the same measurement, with the first rank's environment. If one fails, its
// communicators are aborted; it is the gathering that tells the others.
Measurement execute_nccl(const Schedule& schedule, const Refit& refit, const Cluster& cluster,
                         Rank self, const Gathering& gathering, const CudaOptions& options = {});

// GPUs that this process can use. Error(environment) in plain words if there is no driver or GPU.
int count_gpus();

}  // namespace refit
