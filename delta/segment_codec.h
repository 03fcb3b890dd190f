#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "delta/scan.h"

namespace refit {

// More elements than this are several segments.
inline constexpr std::size_t kMostSegmentElements = std::size_t{1} << 20;

// How the changes of a stretch of elements are written down (docs/delta.md).
enum class DeltaMode : std::uint8_t {
  empty = 0,        // nothing changed, no bytes
  rice = 1,         // profile P: Rice-coded gaps, signed differences of the bit patterns
  conditioned = 2,  // profile C: positions coded given the exponents of the old elements
  overwrite = 3,    // gaps and new elements; needs no trusted old elements
  dense = 4,        // every new element as it is
  anchor = 5,       // every new element, byte planes, zstd
};

// One segment's encoding. Elements are unsigned integers of `element_bytes` (1, 2 or 4),
// little-endian: the codec knows no dtype, and NaN, -0 and denormals come out bit by bit.
struct EncodedSegment {
  DeltaMode mode = DeltaMode::empty;
  std::uint32_t changed = 0;  // elements
  std::uint8_t threshold =
      0;  // of `conditioned`: elements whose exponent field is below it are the small tier
  std::vector<std::byte> payload;
};

// Old and new elements, equally long, at most kMostSegmentElements of them. `mode` empty: the
// smallest of rice, conditioned (2-byte elements only), overwrite and dense is taken; a segment
// without changes is `empty` whatever was asked, unless it is overwrite, dense or anchor.
EncodedSegment encode_segment(std::span<const std::byte> old_elements,
                              std::span<const std::byte> new_elements, int element_bytes,
                              DeltaMode mode);

// The same where the changes are known already.
EncodedSegment encode_changes(const Changes& changes, std::span<const std::byte> old_elements,
                              std::span<const std::byte> new_elements, int element_bytes,
                              DeltaMode mode);

// Changes old elements into new ones in place. Error(bad_input) if the payload is not a whole
// encoding of so many elements and changes; the elements are then in an unknown state (a
// container's hashes say so before, by the checksum of the payload).
void apply_segment(const EncodedSegment& segment, int element_bytes, std::span<std::byte> elements);

}  // namespace refit
