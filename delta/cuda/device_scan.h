#pragma once

#include <cstddef>
#include <cstdint>

#include <cuda_runtime.h>

// What delta/scan.h does, on a device: the same changes in the same order. Pointers are to device
// memory; calls put kernels into the stream and return. The outcome is returned as CUDA's own,
// since fmt, which words our errors, doesn't compile with nvcc.
namespace refit {

struct DeviceChanges {
  std::uint32_t* positions = nullptr;   // room for as many as there are elements
  std::int32_t* differences = nullptr;  // likewise
  std::uint32_t* count = nullptr;
};

// Device memory that a scan of so many elements needs besides. From 1 to 2^31 - 1 of them.
cudaError_t device_scan_bytes(std::uint32_t elements, std::size_t& bytes);

constexpr unsigned kMostScanBlocks = 4096;  // of a launch; what is left they take in turn

// Elements of 1, 2 or 4 bytes, at multiples of as much.
cudaError_t launch_scan(const std::byte* old_elements, const std::byte* new_elements,
                        std::uint32_t elements, int element_bytes, const DeviceChanges& changes,
                        std::byte* workspace, std::size_t workspace_bytes, cudaStream_t stream,
                        unsigned most_blocks = kMostScanBlocks);

}  // namespace refit
