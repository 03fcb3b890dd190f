#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace refit {

// Encodings of other systems, written from their descriptions, to compare ours with. Elements of 2
// bytes. Sizes are what counts: their messages carry names and shapes besides.
enum class Baseline {
  index_value,     // a 32-bit index and the new value per change (verl's delta_sharded, TRL)
  nemo_overwrite,  // NeMo RL: gaps of as many bytes as the largest needs, new values; zstd
  nemo_xor,        // the same with old XOR new
  slime_xor,       // old XOR new of every element; zstd
};
inline constexpr Baseline kBaselines[] = {Baseline::index_value, Baseline::nemo_overwrite,
                                          Baseline::nemo_xor, Baseline::slime_xor};

std::string_view name(Baseline baseline);

// At most 2^32 elements.
std::vector<std::byte> encode_baseline(Baseline baseline,
                                       std::span<const std::uint16_t> old_elements,
                                       std::span<const std::uint16_t> new_elements);

// In place, on old elements (or whatever there is, for new values). Error(bad_input) if the payload
// is none for so many.
void apply_baseline(Baseline baseline, std::span<const std::byte> payload,
                    std::span<std::uint16_t> elements);

}  // namespace refit
