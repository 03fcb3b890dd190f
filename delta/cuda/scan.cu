#include "delta/cuda/device_scan.h"

#include <cub/device/device_select.cuh>
#include <thrust/iterator/counting_iterator.h>

#include "base/launch.h"
#include "delta/cuda/elements.h"

namespace refit {
namespace {

constexpr int kThreads = 256;

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
  for (std::uint32_t i = blockIdx.x * kThreads + threadIdx.x; i < count; i += gridDim.x * kThreads) {
    const std::uint32_t at = changes.positions[i];
    changes.differences[i] = difference(before, after, at);
  }
}

}  // namespace

cudaError_t device_scan_bytes(std::uint32_t elements, std::size_t& bytes) {
  return select_positions({}, elements, {}, nullptr, bytes, nullptr);
}

cudaError_t launch_scan(const std::byte* old_elements, const std::byte* new_elements,
                        std::uint32_t elements, int element_bytes, const DeviceChanges& changes,
                        std::byte* workspace, std::size_t workspace_bytes, cudaStream_t stream,
                        unsigned most_blocks) {
  const Elements before{old_elements, element_bytes}, after{new_elements, element_bytes};
  const cudaError_t selected = select_positions({before, after}, elements, changes, workspace,
                                                workspace_bytes, stream);
  if (selected != cudaSuccess) return selected;
  // How many changed is known on the device only: as many blocks as all of them would want.
  const unsigned wanted = elements / kThreads + 1;
  launch(subtract, wanted < most_blocks ? wanted : most_blocks, kThreads, stream, before, after,
         changes);
  return cudaGetLastError();
}

}  // namespace refit
