#include "executor/cuda/pack.h"

#include "base/launch.h"

namespace refit {
namespace {

constexpr int kThreads = 256;

// Consecutive threads touch consecutive dense bytes, so that side is always coalesced, and the
// strided side as far as its runs are long.
template <class Access, bool packing>
__device__ void copy_tile(const BoxPart& part, std::int64_t begin, std::int64_t end) {
  for (std::int64_t at = begin + static_cast<std::int64_t>(threadIdx.x * sizeof(Access)); at < end;
       at += static_cast<std::int64_t>(kThreads * sizeof(Access))) {
    auto* dense = reinterpret_cast<Access*>(part.dense + at);
    auto* strided = reinterpret_cast<Access*>(strided_address(part, part.skip + at));
    if constexpr (packing) {
      *dense = *strided;
    } else {
      *strided = *dense;
    }
  }
}

template <bool packing>
__global__ void __launch_bounds__(kThreads)
    copy_parts(const BoxPart* parts, int count, std::int64_t tiles) {
  __shared__ BoxPart part;
  for (std::int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    __syncthreads();  // nobody reads the part of the tile before any more
    if (threadIdx.x == 0) {
      int low = 0, high = count;  // the last part that begins at or before the tile
      while (high - low > 1) {
        const int middle = low + (high - low) / 2;
        if (parts[middle].first_tile <= tile) {
          low = middle;
        } else {
          high = middle;
        }
      }
      part = parts[low];
    }
    __syncthreads();
    const std::int64_t begin = (tile - part.first_tile) * kTileBytes;
    const std::int64_t end = begin + kTileBytes < part.bytes ? begin + kTileBytes : part.bytes;
    switch (part.width) {
      case 16:
        copy_tile<uint4, packing>(part, begin, end);
        break;
      case 8:
        copy_tile<uint2, packing>(part, begin, end);
        break;
      case 4:
        copy_tile<std::uint32_t, packing>(part, begin, end);
        break;
      case 2:
        copy_tile<std::uint16_t, packing>(part, begin, end);
        break;
      default:
        copy_tile<std::uint8_t, packing>(part, begin, end);
        break;
    }
  }
}

__device__ std::int64_t first_of_thread() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

__device__ std::int64_t threads_of_grid() {
  return static_cast<std::int64_t>(gridDim.x) * blockDim.x;
}

template <class Element>
__global__ void __launch_bounds__(kThreads)
    fill_shard(Element* shard, ShardIndex index, const IntervalStart* table) {
  for (std::int64_t i = first_of_thread(); i < index.elements; i += threads_of_grid()) {
    shard[i] = static_cast<Element>(
        element_bits(index.seed, index.tensor_class, global_element(index, table, i)));
  }
}

template <class Element>
__global__ void __launch_bounds__(kThreads)
    check_shard(const Element* shard, ShardIndex index, const IntervalStart* table,
                CheckResult* result) {
  for (std::int64_t i = first_of_thread(); i < index.elements; i += threads_of_grid()) {
    const auto expected = static_cast<Element>(
        element_bits(index.seed, index.tensor_class, global_element(index, table, i)));
    const Element found = shard[i];
    if (found == expected) continue;
    unsigned long long wrong = 0;
    for (int b = 0; b < static_cast<int>(sizeof(Element)); ++b)
      wrong += byte_of(found, b) != byte_of(expected, b) ? 1 : 0;
    atomicAdd(&result->wrong_bytes, wrong);
    atomicMin(&result->first, static_cast<unsigned long long>(i));
  }
}

unsigned blocks_for(std::int64_t work, unsigned most_blocks) {
  return work < most_blocks ? static_cast<unsigned>(work) : most_blocks;
}

unsigned blocks_of(const ShardIndex& index, unsigned most_blocks) {
  return blocks_for((index.elements + kThreads - 1) / kThreads, most_blocks);
}

template <class Element>
void fill_as(std::byte* shard, const ShardIndex& index, const IntervalStart* table,
             cudaStream_t stream, unsigned most_blocks) {
  launch(fill_shard<Element>, blocks_of(index, most_blocks), kThreads, stream,
         reinterpret_cast<Element*>(shard), index, table);
}

template <class Element>
void check_as(const std::byte* shard, const ShardIndex& index, const IntervalStart* table,
              CheckResult* result, cudaStream_t stream, unsigned most_blocks) {
  launch(check_shard<Element>, blocks_of(index, most_blocks), kThreads, stream,
         reinterpret_cast<const Element*>(shard), index, table, result);
}

}  // namespace

cudaError_t launch_pack(const BoxPart* parts, int count, std::int64_t tiles, cudaStream_t stream,
                        unsigned most_blocks) {
  launch(copy_parts<true>, blocks_for(tiles, most_blocks), kThreads, stream, parts, count, tiles);
  return cudaGetLastError();
}

cudaError_t launch_unpack(const BoxPart* parts, int count, std::int64_t tiles, cudaStream_t stream,
                          unsigned most_blocks) {
  launch(copy_parts<false>, blocks_for(tiles, most_blocks), kThreads, stream, parts, count, tiles);
  return cudaGetLastError();
}

cudaError_t launch_fill(std::byte* shard, const ShardIndex& index, const IntervalStart* table,
                        cudaStream_t stream, unsigned most_blocks) {
  if (index.elements == 0) return cudaSuccess;
  switch (index.element_bytes) {
    case 1:
      fill_as<std::uint8_t>(shard, index, table, stream, most_blocks);
      break;
    case 2:
      fill_as<std::uint16_t>(shard, index, table, stream, most_blocks);
      break;
    case 4:
      fill_as<std::uint32_t>(shard, index, table, stream, most_blocks);
      break;
    default:
      fill_as<std::uint64_t>(shard, index, table, stream, most_blocks);
      break;
  }
  return cudaGetLastError();
}

cudaError_t launch_check(const std::byte* shard, const ShardIndex& index,
                         const IntervalStart* table, CheckResult* result, cudaStream_t stream,
                         unsigned most_blocks) {
  if (index.elements == 0) return cudaSuccess;
  switch (index.element_bytes) {
    case 1:
      check_as<std::uint8_t>(shard, index, table, result, stream, most_blocks);
      break;
    case 2:
      check_as<std::uint16_t>(shard, index, table, result, stream, most_blocks);
      break;
    case 4:
      check_as<std::uint32_t>(shard, index, table, result, stream, most_blocks);
      break;
    default:
      check_as<std::uint64_t>(shard, index, table, result, stream, most_blocks);
      break;
  }
  return cudaGetLastError();
}

}  // namespace refit
