#include "delta/baselines/plain_codecs.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "delta/detail/bit_stream.h"
#include "delta/detail/zstd_bytes.h"
#include "delta/scan.h"

namespace refit {
namespace {

using detail::bad_payload;

constexpr std::size_t kIndexBytes = 4, kValueBytes = 2;

}  // namespace

std::vector<std::byte> encode_index_value(std::span<const std::uint16_t> old_elements,
                                          std::span<const std::uint16_t> new_elements) {
  Changes changes;
  scan(std::as_bytes(old_elements), std::as_bytes(new_elements), 2, changes);
  std::vector<std::byte> payload(changes.positions.size() * (kIndexBytes + kValueBytes));
  std::ranges::copy(std::as_bytes(std::span(changes.positions)), payload.begin());
  std::byte* value = payload.data() + changes.positions.size() * kIndexBytes;
  for (const std::uint32_t position : changes.positions) {
    std::memcpy(value, &new_elements[position], kValueBytes);
    value += kValueBytes;
  }
  return payload;
}

void apply_index_value(std::span<const std::byte> payload, std::span<std::uint16_t> elements) {
  const std::size_t count = payload.size() / (kIndexBytes + kValueBytes);
  if (payload.size() != count * (kIndexBytes + kValueBytes))
    bad_payload(fmt::format("{} bytes are no list of indices and values", payload.size()));
  const std::byte* index = payload.data();
  const std::byte* value = payload.data() + count * kIndexBytes;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint32_t position = 0;
    std::memcpy(&position, index + i * kIndexBytes, kIndexBytes);
    if (position >= elements.size())
      bad_payload(fmt::format("a change at element {} of {}", position, elements.size()));
    std::memcpy(&elements[position], value + i * kValueBytes, kValueBytes);
  }
}

std::vector<std::byte> encode_dense_mask(std::span<const std::uint16_t> old_elements,
                                         std::span<const std::uint16_t> new_elements) {
  std::vector<std::uint16_t> masks(old_elements.size());
  for (std::size_t i = 0; i < masks.size(); ++i)
    masks[i] = static_cast<std::uint16_t>(old_elements[i] ^ new_elements[i]);
  return detail::zstd_compress(std::as_bytes(std::span(masks)));
}

void apply_dense_mask(std::span<const std::byte> payload, std::span<std::uint16_t> elements) {
  const std::vector<std::byte> masks = detail::zstd_decompress(payload, elements.size_bytes());
  if (masks.size() != elements.size_bytes())
    bad_payload(
        fmt::format("masks of {} bytes; {} are needed", masks.size(), elements.size_bytes()));
  for (std::size_t i = 0; i < elements.size(); ++i) {
    std::uint16_t mask = 0;
    std::memcpy(&mask, masks.data() + i * sizeof mask, sizeof mask);
    elements[i] = static_cast<std::uint16_t>(elements[i] ^ mask);
  }
}

}  // namespace refit
