#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "base/check.h"
#include "base/error.h"
#include "delta/segment_codec.h"
#include "tests/fuzz/targets.h"

namespace refit::fuzz {
namespace {

using Bytes = std::vector<std::byte>;

// Elements of many exponents, so that the conditioned mode has classes of all sizes.
Bytes old_elements(std::size_t count) {
  Bytes bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>((i * i) >> 3);
  return bytes;
}

void apply_anything(DeltaMode mode, int element_bytes, std::uint8_t threshold,
                    std::span<const std::byte> payload) {
  Bytes elements = old_elements(4096);
  EncodedSegment segment{mode, 0, threshold, {}};
  if (payload.size() >= 2) {
    segment.changed = std::to_integer<std::uint32_t>(payload[0]) |
                      (std::to_integer<std::uint32_t>(payload[1]) << 8);
    payload = payload.subspan(2);
  }
  segment.payload.assign(payload.begin(), payload.end());
  try {
    apply_segment(segment, element_bytes, elements);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::bad_input) throw;
  }
}

void round_trip(DeltaMode mode, int element_bytes, std::span<const std::byte> input) {
  if (mode == DeltaMode::conditioned && element_bytes != 2) mode = DeltaMode::empty;
  const std::size_t half = input.size() / 2 / static_cast<std::size_t>(element_bytes) *
                           static_cast<std::size_t>(element_bytes);
  Bytes elements(input.begin(), input.begin() + static_cast<std::ptrdiff_t>(half));
  const auto after = input.subspan(half, half);
  apply_segment(encode_segment(elements, after, element_bytes, mode), element_bytes, elements);
  REFIT_CHECK(std::ranges::equal(elements, after));
}

}  // namespace

void delta_segment(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return;
  const int element_bytes = std::array{1, 2, 4}[(data[0] >> 3) % 3];
  const auto input = std::as_bytes(std::span(data, size)).subspan(3);
  if ((data[0] & 0x80) != 0) {
    round_trip(static_cast<DeltaMode>(data[1] % 6), element_bytes, input);
  } else {
    apply_anything(static_cast<DeltaMode>(data[1] % 8), element_bytes, data[2], input);
  }
}

}  // namespace refit::fuzz
