#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace refit::detail {

// Whole elements, sorted into byte planes and compressed with zstd: the exponents' plane shrinks,
// the mantissas' doesn't.
std::vector<std::byte> compress_planes(std::span<const std::byte> elements, int element_bytes);

// Into all of `elements`; Error(bad_input) if the payload is not exactly as many.
void decompress_planes(std::span<const std::byte> payload, int element_bytes,
                       std::span<std::byte> elements);

}  // namespace refit::detail
