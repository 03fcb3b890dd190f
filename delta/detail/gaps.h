#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "delta/detail/bit_stream.h"

namespace refit::detail {

// A Golomb-Rice code of the gaps between rising positions: gap >> k zeros, a one, the k low bits.
// The k that makes the fewest bits, found exactly, stands before the first gap. Nothing is written
// where there are no positions.
void put_gaps(BitWriter& out, std::span<const std::uint32_t> positions);

// How many bits that makes.
std::uint64_t gaps_bits(std::span<const std::uint32_t> positions);

// Positions below `end`, into all of `positions`.
void get_gaps(BitReader& in, std::span<std::uint32_t> positions, std::uint64_t end);

}  // namespace refit::detail
