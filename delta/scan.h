#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

namespace refit {

// What a scan is compiled for. All give the same.
enum class ScanKernel { scalar, avx2, avx512 };

std::string_view name(ScanKernel kernel);

// Those that this processor runs, the quickest last.
std::span<const ScanKernel> scan_kernels();
ScanKernel best_scan_kernel();

// Which of two equally long stretches' elements differ, and by how much.
struct Changes {
  std::vector<std::uint32_t> positions;  // rising
  std::vector<std::int32_t>
      differences;  // new minus old, a two's complement of the element's width

  std::uint32_t count() const { return static_cast<std::uint32_t>(positions.size()); }
};

// Elements are unsigned integers of `element_bytes` (1, 2 or 4), fewer than 2^32 of them. `changes`
// is overwritten, and its memory used again.
void scan(std::span<const std::byte> old_elements, std::span<const std::byte> new_elements,
          int element_bytes, Changes& changes, ScanKernel kernel = best_scan_kernel());

// The same, and told of each block once it is scanned, while it is in the cache.
using BlockSeen = std::function<void(std::span<const std::byte> old_elements,
                                     std::span<const std::byte> new_elements)>;
void scan(std::span<const std::byte> old_elements, std::span<const std::byte> new_elements,
          int element_bytes, Changes& changes, const BlockSeen& seen);

// Adds the differences. Positions must be inside.
void add_changes(const Changes& changes, int element_bytes, std::span<std::byte> elements);

}  // namespace refit
