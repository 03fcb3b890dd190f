#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "delta/scan.h"

namespace refit::detail {

// Profile C. The smaller an element's magnitude, the smaller the unit in its last place and the
// likelier a step of the optimiser changes it; and the receiver has the old elements. So BF16
// elements (any two-byte ones whose low 15 bits rise with the magnitude) fall in two tiers.
//
// The large tier has an exponent field of at least `threshold`: nearly all elements, few changes.
// It is coded as `rice` is.
//
// The small tier comes octave by octave from the highest exponent down, the last with all that is
// lower: how many changed, the gaps between their ranks in the octave (or between the ranks of
// those that did not change, if these are fewer), the differences.
struct Conditioned {
  std::uint32_t changed = 0;
  std::uint8_t threshold = 0;
  std::vector<std::byte> payload;
};

Conditioned encode_conditioned(std::span<const std::byte> old_elements,
                               std::span<const std::byte> new_elements,
                               ScanKernel kernel = best_scan_kernel());

// In place; Error(bad_input) if the payload is none of so many changes for these old elements.
void apply_conditioned(std::span<const std::byte> payload, std::uint32_t changed,
                       std::uint8_t threshold, std::span<std::byte> elements,
                       ScanKernel kernel = best_scan_kernel());

}  // namespace refit::detail
