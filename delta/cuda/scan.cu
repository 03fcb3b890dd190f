#include "delta/cuda/device_scan.h"

#include <cub/device/device_select.cuh>
#include <thrust/iterator/counting_iterator.h>

namespace refit {
namespace {

constexpr int kThreads = 256;
constexpr unsigned kMostBlocks = 4096;  // further changes are taken in turn

// Elements of a width that all threads share, so that the switches never part a warp; one selection
// for all widths compiles in a third of the time.
struct Elements {
  const std::byte* bytes = nullptr;
  int width = 0;

  __device__ std::uint32_t operator[](std::uint32_t i) const {
    switch (width) {
      case 1:
        return reinterpret_cast<const std::uint8_t*>(bytes)[i];
      case 2:
        return reinterpret_cast<const std::uint16_t*>(bytes)[i];
      default:
        return reinterpret_cast<const std::uint32_t*>(bytes)[i];
    }
  }
};

struct IsChanged {
  Elements before, after;
  __device__ bool operator()(std::uint32_t i) const { return before[i] != after[i]; }
};

// Positions by a selection that keeps their order, which CUB does in one pass over memory. Without a
// workspace it only says how large one must be.
cudaError_t select_positions(const IsChanged& is_changed, std::uint32_t elements,
                             const DeviceChanges& changes, std::byte* workspace,
                             std::size_t& workspace_bytes, cudaStream_t stream) {
  return cub::DeviceSelect::If(workspace, workspace_bytes,
                               thrust::counting_iterator<std::uint32_t>(0), changes.positions,
                               changes.count, static_cast<int>(elements), is_changed, stream);
}

__global__ void __launch_bounds__(kThreads)
    subtract(Elements before, Elements after, DeviceChanges changes) {
  const std::uint32_t count = *changes.count;
  const int unused = 32 - 8 * before.width;  // sign extension from the element's width
  for (std::uint32_t i = blockIdx.x * kThreads + threadIdx.x; i < count; i += gridDim.x * kThreads) {
    const std::uint32_t at = changes.positions[i];
    changes.differences[i] = static_cast<std::int32_t>((after[at] - before[at]) << unused) >> unused;
  }
}

}  // namespace

cudaError_t device_scan_bytes(std::uint32_t elements, std::size_t& bytes) {
  return select_positions({}, elements, {}, nullptr, bytes, nullptr);
}

cudaError_t launch_scan(const std::byte* old_elements, const std::byte* new_elements,
                        std::uint32_t elements, int element_bytes, const DeviceChanges& changes,
                        std::byte* workspace, std::size_t workspace_bytes, cudaStream_t stream) {
  const Elements before{old_elements, element_bytes}, after{new_elements, element_bytes};
  const cudaError_t selected = select_positions({before, after}, elements, changes, workspace,
                                                workspace_bytes, stream);
  if (selected != cudaSuccess) return selected;
  // How many changed is known on the device only: as many blocks as all of them would want.
  const unsigned wanted = elements / kThreads + 1;
  subtract<<<wanted < kMostBlocks ? wanted : kMostBlocks, kThreads, 0, stream>>>(before, after,
                                                                                  changes);
  return cudaGetLastError();
}

}  // namespace refit
