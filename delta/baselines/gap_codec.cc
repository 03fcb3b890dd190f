#include "delta/baselines/gap_codec.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "delta/detail/bit_stream.h"
#include "delta/detail/zstd_bytes.h"
#include "delta/scan.h"

namespace refit {
namespace {

using detail::bad_payload;

// Bytes of a gap; 0 says that the changes are a range, of which the first position follows.
constexpr std::uint8_t kRange = 0;

struct Header {
  std::uint64_t count = 0;
  std::uint8_t gap_bytes = kRange;
};
constexpr std::size_t kHeaderBytes = 9;

void append(std::vector<std::byte>& out, const void* from, std::size_t bytes) {
  const auto* begin = static_cast<const std::byte*>(from);
  out.insert(out.end(), begin, begin + bytes);
}

std::vector<std::uint64_t> gaps_of(std::span<const std::uint32_t> positions) {
  std::vector<std::uint64_t> gaps;
  gaps.reserve(positions.size());
  std::uint64_t next = 0;
  for (const std::uint32_t position : positions) {
    gaps.push_back(position - next);
    next = std::uint64_t{position} + 1;
  }
  return gaps;
}

std::uint8_t gap_bytes(std::span<const std::uint64_t> gaps) {
  if (std::ranges::all_of(gaps.subspan(1), [](std::uint64_t gap) { return gap == 0; }))
    return kRange;
  const std::uint64_t largest = std::ranges::max(gaps);
  return largest <= 0xffff ? 2 : largest <= 0xffffffffu ? 4 : 8;
}

// Takes bytes off the front; Error(bad_input) if there are fewer.
std::span<const std::byte> take(std::span<const std::byte>& bytes, std::size_t count) {
  if (bytes.size() < count)
    bad_payload(fmt::format("{} bytes are left where {} are needed", bytes.size(), count));
  const auto taken = bytes.first(count);
  bytes = bytes.subspan(count);
  return taken;
}

}  // namespace

std::vector<std::byte> encode_gaps(std::span<const std::uint16_t> old_elements,
                                   std::span<const std::uint16_t> new_elements, GapValues values) {
  Changes changes;
  scan(std::as_bytes(old_elements), std::as_bytes(new_elements), 2, changes);
  if (changes.count() == 0) return {};
  const std::vector<std::uint64_t> gaps = gaps_of(changes.positions);
  const Header header{gaps.size(), gap_bytes(gaps)};
  std::vector<std::byte> places;
  append(places, &header.count, 8);
  append(places, &header.gap_bytes, 1);
  if (header.gap_bytes == kRange) {
    append(places, &gaps.front(), 8);
  } else {
    for (const std::uint64_t gap : gaps) append(places, &gap, header.gap_bytes);
  }
  std::vector<std::byte> of_changes;
  for (const std::uint32_t position : changes.positions) {
    const auto value = static_cast<std::uint16_t>(
        new_elements[position] ^ (values == GapValues::mask ? old_elements[position] : 0));
    append(of_changes, &value, sizeof value);
  }
  std::vector<std::byte> payload = detail::zstd_compress(places);
  const std::vector<std::byte> second = detail::zstd_compress(of_changes);
  append(payload, second.data(), second.size());
  return payload;
}

void apply_gaps(std::span<const std::byte> payload, std::span<std::uint16_t> elements,
                GapValues values) {
  if (payload.empty()) return;  // nothing changed
  const std::size_t first = detail::zstd_frame_bytes(payload);
  const std::vector<std::byte> places =
      detail::zstd_decompress(payload.first(first), kHeaderBytes + 8 * elements.size());
  const std::vector<std::byte> of_changes =
      detail::zstd_decompress(payload.subspan(first), 2 * elements.size());
  std::span<const std::byte> rest(places);
  Header header;
  const auto fields = take(rest, kHeaderBytes);
  std::memcpy(&header.count, fields.data(), 8);
  std::memcpy(&header.gap_bytes, fields.data() + 8, 1);
  if (header.count > elements.size())
    bad_payload(fmt::format("{} changes in {} elements", header.count, elements.size()));
  const std::size_t width = header.gap_bytes;
  if (width != kRange && width != 2 && width != 4 && width != 8)
    bad_payload(fmt::format("gaps of {} bytes; 0 (a range), 2, 4 or 8 are possible", width));
  const auto gaps = take(rest, width == kRange ? 8 : width * header.count);
  if (!rest.empty()) bad_payload(fmt::format("{} bytes are left over", rest.size()));
  if (of_changes.size() != 2 * header.count)
    bad_payload(
        fmt::format("{} bytes of values; {} are needed", of_changes.size(), 2 * header.count));

  std::uint64_t next = 0;
  for (std::size_t i = 0; i < header.count; ++i) {
    std::uint64_t gap = 0;
    if (width == kRange) {
      if (i == 0) std::memcpy(&gap, gaps.data(), 8);
    } else {
      std::memcpy(&gap, gaps.data() + i * width, width);
    }
    if (gap >= elements.size() - next)
      bad_payload(fmt::format("a gap of {} at element {} of {}", gap, next, elements.size()));
    std::uint16_t value = 0;
    std::memcpy(&value, of_changes.data() + 2 * i, 2);
    std::uint16_t& element = elements[next + gap];
    element = static_cast<std::uint16_t>(values == GapValues::mask ? element ^ value : value);
    next += gap + 1;
  }
}

}  // namespace refit
