#pragma once

#include <cstdint>
#include <span>

#include "delta/detail/bit_stream.h"

namespace refit::detail {

// Signed differences, none of them 0. Signs first, a bit each. An optimiser's step is nearly always
// one unit in the last place, so the magnitudes are either those that are not 1, with their places,
// or, if these are many, all of them in an exponential Golomb code.
void put_differences(BitWriter& out, std::span<const std::int32_t> differences);

void get_differences(BitReader& in, std::span<std::int32_t> differences);

// A number that is small as a rule, in an exponential Golomb code of `order` low bits.
void put_count(BitWriter& out, std::uint32_t count, int order);
std::uint32_t get_count(BitReader& in, int order);

}  // namespace refit::detail
