#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace refit {

// NeMo RL's sparse refit: where the changes are, as one range if they are neighbours, else as gaps
// of 2, 4 or 8 bytes, whatever the largest needs; then a 16-bit value per change; all of it through
// zstd.
enum class GapValues { overwrite, mask };

std::vector<std::byte> encode_gaps(std::span<const std::uint16_t> old_elements,
                                   std::span<const std::uint16_t> new_elements, GapValues values);
void apply_gaps(std::span<const std::byte> payload, std::span<std::uint16_t> elements,
                GapValues values);

}  // namespace refit
