#pragma once

#include <cstddef>
#include <cstdint>

namespace refit::detail {

// A block's positions have 16 bits.
inline constexpr std::size_t kBlockElements = 1 << 16;

// Kernels store whole vectors: so much room, in elements, is needed behind what they report.
inline constexpr std::size_t kSlack = 64;

// A member of the small tier (detail/conditioned.h): its exponent field above, so that one
// comparison sorts members by exponent; below, what is to be carried along: for the encoder new
// minus old, for the decoder the place in the segment.
using Member = std::uint32_t;
inline constexpr int kMemberExponentShift = 24;
inline constexpr Member kMemberCarried = (Member{1} << 20) - 1;

// Elements differ at positions from 0; old and new may lie at any address.
template <class Element>
using ScanBlock = std::size_t (*)(const std::byte* old_elements, const std::byte* new_elements,
                                  std::size_t count, std::uint16_t* positions,
                                  Element* differences);

// Two-byte elements in two tiers by the magnitude that the old one's low 15 bits make.
struct TierBlock {
  const std::byte* old_elements = nullptr;
  std::size_t count = 0;
  std::uint16_t limit = 0;  // magnitudes below are the small tier
  // All of the small tier.
  Member* members = nullptr;
  // For the encoder: changes of the large tier, as of a ScanBlock.
  const std::byte* new_elements = nullptr;
  std::uint16_t* positions = nullptr;
  std::uint16_t* differences = nullptr;
  // For the decoder: place of the block's first element in the segment.
  std::uint32_t first = 0;
};
struct TierCounts {
  std::size_t changes = 0, members = 0;
};

// What a scan is made of, for one kind of processor. All kinds write the same.
struct ScanKernels {
  ScanBlock<std::uint8_t> scan_1;
  ScanBlock<std::uint16_t> scan_2;
  ScanBlock<std::uint32_t> scan_4;
  TierCounts (*tiers_to_encode)(const TierBlock& block);
  TierCounts (*tiers_to_decode)(const TierBlock& block);
  // Moves members from `limit` on to `taken`, closes the gaps among the others, and returns how
  // many were taken. Order is kept.
  std::size_t (*take)(Member* members, std::size_t count, Member limit, Member* taken);
};

const ScanKernels& scalar_kernels();
// Null where this build or this processor has none.
const ScanKernels* avx2_kernels();
const ScanKernels* avx512_kernels();

}  // namespace refit::detail
