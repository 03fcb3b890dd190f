#pragma once

#include <cstddef>
#include <cstdint>

// Sizes of RFD1's parts (docs/delta_format.md).
namespace refit::detail {

inline constexpr std::uint64_t kAlignment = 64;
inline constexpr std::uint64_t kHeaderBytes = 128;
inline constexpr std::uint64_t kRegionBytes = 136;
inline constexpr std::uint64_t kSegmentBytes = 48;
inline constexpr std::uint64_t kTrailerBytes = 32;

constexpr std::uint64_t aligned(std::uint64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace refit::detail
