#pragma once

#include <cstdint>

#include <cuda_runtime.h>

#include "executor/cuda/box_parts.h"
#include "executor/cuda/shard_index.h"

// What runs on the device. Every function puts one kernel into the stream and returns; pointers are
// to device memory. The outcome of the launch is returned, since fmt, which words our errors,
// doesn't compile with nvcc. Tests without a GPU run the same source (tests/fakes/pack_kernels.cc).
namespace refit {

constexpr unsigned kMostBlocks = 1 << 16;  // of a launch; what is left they take in turn

// `parts` has `count` entries with `tiles` tiles in all; both above 0.
cudaError_t launch_pack(const BoxPart* parts, int count, std::int64_t tiles, cudaStream_t stream,
                        unsigned most_blocks = kMostBlocks);
cudaError_t launch_unpack(const BoxPart* parts, int count, std::int64_t tiles, cudaStream_t stream,
                          unsigned most_blocks = kMostBlocks);

cudaError_t launch_fill(std::byte* shard, const ShardIndex& index, const IntervalStart* table,
                        cudaStream_t stream, unsigned most_blocks = kMostBlocks);

// Added to and lowered by the check; begins as below.
struct CheckResult {
  unsigned long long wrong_bytes = 0;
  unsigned long long first = ~0ull;  // lowest local index of an element with a wrong byte
};

cudaError_t launch_check(const std::byte* shard, const ShardIndex& index,
                         const IntervalStart* table, CheckResult* result, cudaStream_t stream,
                         unsigned most_blocks = kMostBlocks);

}  // namespace refit
