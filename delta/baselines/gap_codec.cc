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

constexpr std::size_t kHeaderBytes = 9;  // how many changes, bytes of a gap

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

// One loop per width: a copy of a length that only the data know would be a call each.
template <class Gap>
void append_as(std::vector<std::byte>& out, std::span<const std::uint64_t> gaps) {
  std::vector<Gap> narrow(gaps.size());
  for (std::size_t i = 0; i < gaps.size(); ++i) narrow[i] = static_cast<Gap>(gaps[i]);
  append(out, narrow.data(), narrow.size() * sizeof(Gap));
}

template <class Gap>
void read_as(std::span<const std::byte> bytes, std::vector<std::uint64_t>& gaps) {
  std::vector<Gap> narrow(gaps.size());
  if (!bytes.empty()) std::memcpy(narrow.data(), bytes.data(), bytes.size());
  for (std::size_t i = 0; i < gaps.size(); ++i) gaps[i] = narrow[i];
}

std::vector<std::byte> places_of(std::span<const std::uint64_t> gaps) {
  const std::uint64_t count = gaps.size();
  const std::uint8_t width = gap_bytes(gaps);
  std::vector<std::byte> places;
  append(places, &count, 8);
  append(places, &width, 1);
  switch (width) {
    case kRange:
      append(places, &gaps.front(), 8);
      break;
    case 2:
      append_as<std::uint16_t>(places, gaps);
      break;
    case 4:
      append_as<std::uint32_t>(places, gaps);
      break;
    default:
      append_as<std::uint64_t>(places, gaps);
  }
  return places;
}

// At most so many gaps.
std::vector<std::uint64_t> read_places(std::span<const std::byte> places, std::size_t most) {
  std::uint64_t count = 0;
  std::uint8_t width = 0;
  if (places.size() < kHeaderBytes)
    bad_payload(
        fmt::format("places of {} bytes; at least {} are needed", places.size(), kHeaderBytes));
  std::memcpy(&count, places.data(), 8);
  std::memcpy(&width, places.data() + 8, 1);
  if (count > most) bad_payload(fmt::format("{} changes in {} elements", count, most));
  if (width != kRange && width != 2 && width != 4 && width != 8)
    bad_payload(fmt::format("gaps of {} bytes; 0 (a range), 2, 4 or 8 are possible", width));
  const auto rest = places.subspan(kHeaderBytes);
  if (rest.size() != (width == kRange ? 8 : width * count))
    bad_payload(fmt::format("{} bytes of gaps for {} changes", rest.size(), count));
  std::vector<std::uint64_t> gaps(count);
  switch (width) {
    case kRange:
      if (count > 0) std::memcpy(gaps.data(), rest.data(), 8);
      break;
    case 2:
      read_as<std::uint16_t>(rest, gaps);
      break;
    case 4:
      read_as<std::uint32_t>(rest, gaps);
      break;
    default:
      read_as<std::uint64_t>(rest, gaps);
  }
  return gaps;
}

}  // namespace

std::vector<std::byte> encode_gaps(std::span<const std::uint16_t> old_elements,
                                   std::span<const std::uint16_t> new_elements, GapValues values) {
  Changes changes;
  scan(std::as_bytes(old_elements), std::as_bytes(new_elements), 2, changes);
  if (changes.count() == 0) return {};
  std::vector<std::uint16_t> of_changes;
  of_changes.reserve(changes.positions.size());
  for (const std::uint32_t position : changes.positions)
    of_changes.push_back(static_cast<std::uint16_t>(
        new_elements[position] ^ (values == GapValues::mask ? old_elements[position] : 0)));
  std::vector<std::byte> payload = detail::zstd_compress(places_of(gaps_of(changes.positions)));
  const std::vector<std::byte> second = detail::zstd_compress(std::as_bytes(std::span(of_changes)));
  append(payload, second.data(), second.size());
  return payload;
}

void apply_gaps(std::span<const std::byte> payload, std::span<std::uint16_t> elements,
                GapValues values) {
  if (payload.empty()) return;  // nothing changed
  const std::size_t first = detail::zstd_frame_bytes(payload);
  const std::vector<std::uint64_t> gaps = read_places(
      detail::zstd_decompress(payload.first(first),
                              kHeaderBytes + 8 * std::max<std::size_t>(1, elements.size())),
      elements.size());
  const std::vector<std::byte> of_changes =
      detail::zstd_decompress(payload.subspan(first), 2 * elements.size());
  if (of_changes.size() != 2 * gaps.size())
    bad_payload(
        fmt::format("{} bytes of values; {} are needed", of_changes.size(), 2 * gaps.size()));
  std::uint64_t next = 0;
  for (std::size_t i = 0; i < gaps.size(); ++i) {
    if (gaps[i] >= elements.size() - next)
      bad_payload(fmt::format("a gap of {} at element {} of {}", gaps[i], next, elements.size()));
    std::uint16_t value = 0;
    std::memcpy(&value, of_changes.data() + 2 * i, 2);
    std::uint16_t& element = elements[next + gaps[i]];
    element = static_cast<std::uint16_t>(values == GapValues::mask ? element ^ value : value);
    next += gaps[i] + 1;
  }
}

}  // namespace refit
