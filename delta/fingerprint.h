#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "delta/region.h"
#include "delta/scan.h"

namespace refit {

// Fingerprints of weights that survive resharding: the sum over elements of
//
//   key(tensor, index in the whole tensor, row by row) * (bits of the element + 1)   mod 2^64
//
// A sum knows no order, so all parts of a tensor add up to the same number however it is cut: the
// training side and the generation side compare whole tensors without ever holding the same shards.
// A change of elements is a difference of the sum. Keys are odd, so one changed element always
// shows. Against accidents, not against attackers.

// `elements` are those from `first` on of the box, little-endian, of 1, 2 or 4 bytes.
std::uint64_t fingerprint(std::uint32_t tensor, const DeltaBox& box, std::uint64_t first,
                          std::span<const std::byte> elements, int element_bytes);

// What changes of the old elements add to it; cheap where few changed.
std::uint64_t fingerprint_change(std::uint32_t tensor, const DeltaBox& box, std::uint64_t first,
                                 std::span<const std::byte> old_elements, const Changes& changes,
                                 int element_bytes);

}  // namespace refit
