#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace refit {

// All 32-bit indices, then all new values: nothing is compressed.
std::vector<std::byte> encode_index_value(std::span<const std::uint16_t> old_elements,
                                          std::span<const std::uint16_t> new_elements);
void apply_index_value(std::span<const std::byte> payload, std::span<std::uint16_t> elements);

// Old XOR new of all elements, mostly zeros, through zstd.
std::vector<std::byte> encode_dense_mask(std::span<const std::uint16_t> old_elements,
                                         std::span<const std::uint16_t> new_elements);
void apply_dense_mask(std::span<const std::byte> payload, std::span<std::uint16_t> elements);

}  // namespace refit
