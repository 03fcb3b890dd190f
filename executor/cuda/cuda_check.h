#pragma once

#include <string>

#include <cuda_runtime.h>
#include <fmt/format.h>

#include "base/error.h"

namespace refit {

// Error(environment) if a CUDA call failed: "cudaMalloc: out of memory
// (cudaErrorMemoryAllocation)". Who was doing what for whom is added where it is known.
inline void cuda_check(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  throw Error(ErrorCode::environment, fmt::format("{}: {} ({})", call, cudaGetErrorString(status),
                                                  cudaGetErrorName(status)));
}

// Devices of this process. Asked before anything else: without a driver the first other call fails
// with words about versions, and NCCL only when all ranks already wait for this one.
inline int require_gpus() {
  int devices = 0;
  const cudaError_t status = cudaGetDeviceCount(&devices);
  if (status == cudaSuccess && devices > 0) return devices;
  throw Error(ErrorCode::environment,
              fmt::format("no NVIDIA driver or GPU was found (cudaGetDeviceCount: {}); run on a "
                          "machine with one, or choose a transport that needs none",
                          status == cudaSuccess ? "0 devices" : cudaGetErrorString(status)));
}

}  // namespace refit
