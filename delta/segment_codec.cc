#include "delta/segment_codec.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "delta/detail/anchor.h"
#include "delta/detail/bit_stream.h"
#include "delta/detail/conditioned.h"
#include "delta/detail/differences.h"
#include "delta/detail/gaps.h"
#include "delta/scan.h"

namespace refit {
namespace {

using detail::bad_payload;
using detail::BitReader;
using detail::BitWriter;

// Kept by each thread, so that a segment costs no allocation but its own payload.
struct Workspace {
  Changes changes;
  std::vector<std::byte> written;
};

Workspace& workspace() {
  thread_local Workspace space;
  return space;
}

std::vector<std::byte> rice_payload(const Changes& changes) {
  std::vector<std::byte>& written = workspace().written;
  written.clear();
  BitWriter out(written);
  detail::put_gaps(out, changes.positions);
  detail::put_differences(out, changes.differences);
  out.finish();
  return {written.begin(), written.end()};
}

std::vector<std::byte> overwrite_payload(const Changes& changes,
                                         std::span<const std::byte> new_elements,
                                         int element_bytes) {
  const auto width = static_cast<std::size_t>(element_bytes);
  std::vector<std::byte>& written = workspace().written;
  written.clear();
  BitWriter out(written);
  detail::put_gaps(out, changes.positions);
  out.finish();
  std::size_t at = written.size();
  written.resize(at + changes.positions.size() * width);
  for (const std::uint32_t position : changes.positions) {
    std::memcpy(written.data() + at, new_elements.data() + position * width, width);
    at += width;
  }
  return {written.begin(), written.end()};
}

void apply_rice(std::span<const std::byte> payload, std::uint32_t changed, int element_bytes,
                std::span<std::byte> elements) {
  Changes& changes = workspace().changes;
  changes.positions.resize(changed);
  changes.differences.resize(changed);
  BitReader in(payload);
  detail::get_gaps(in, changes.positions,
                   elements.size() / static_cast<std::size_t>(element_bytes));
  detail::get_differences(in, changes.differences);
  in.finish();
  add_changes(changes, element_bytes, elements);
}

void apply_overwrite(std::span<const std::byte> payload, std::uint32_t changed, int element_bytes,
                     std::span<std::byte> elements) {
  const auto width = static_cast<std::size_t>(element_bytes);
  std::vector<std::uint32_t>& positions = workspace().changes.positions;
  positions.resize(changed);
  BitReader in(payload);
  detail::get_gaps(in, positions, elements.size() / width);
  in.align();
  const std::span<const std::byte> values = in.rest();
  if (values.size() != changed * width)
    bad_payload(
        fmt::format("{} bytes of new elements; {} are needed", values.size(), changed * width));
  for (std::size_t i = 0; i < changed; ++i)
    std::memcpy(elements.data() + positions[i] * width, values.data() + i * width, width);
}

void check_width(int element_bytes) {
  if (element_bytes != 1 && element_bytes != 2 && element_bytes != 4)
    throw Error(ErrorCode::bad_input,
                fmt::format("segment: elements of {} bytes; use 1, 2 or 4", element_bytes));
}

void check_size(std::size_t bytes, int element_bytes) {
  const auto width = static_cast<std::size_t>(element_bytes);
  if (bytes % width != 0 || bytes / width > kMostSegmentElements)
    throw Error(ErrorCode::bad_input,
                fmt::format("segment: {} bytes are not at most {} elements of {} bytes", bytes,
                            kMostSegmentElements, width));
}

EncodedSegment conditioned(std::span<const std::byte> old_elements,
                           std::span<const std::byte> new_elements, int element_bytes) {
  if (element_bytes != 2)
    throw Error(ErrorCode::bad_input,
                fmt::format("segment: mode conditioned is for elements of 2 bytes, these have {}; "
                            "use rice",
                            element_bytes));
  detail::Conditioned coded = detail::encode_conditioned(old_elements, new_elements);
  if (coded.changed == 0) return {};
  return {DeltaMode::conditioned, coded.changed, coded.threshold, std::move(coded.payload)};
}

}  // namespace

EncodedSegment encode_segment(std::span<const std::byte> old_elements,
                              std::span<const std::byte> new_elements, int element_bytes,
                              DeltaMode mode) {
  check_width(element_bytes);
  check_size(old_elements.size(), element_bytes);
  REFIT_CHECK(old_elements.size() == new_elements.size());
  // It finds them as it goes.
  if (mode == DeltaMode::conditioned) return conditioned(old_elements, new_elements, element_bytes);
  Changes& changes = workspace().changes;
  scan(old_elements, new_elements, element_bytes, changes);
  return encode_changes(changes, old_elements, new_elements, element_bytes, mode);
}

EncodedSegment encode_changes(const Changes& changes, std::span<const std::byte> old_elements,
                              std::span<const std::byte> new_elements, int element_bytes,
                              DeltaMode mode) {
  check_width(element_bytes);
  check_size(old_elements.size(), element_bytes);
  REFIT_CHECK(old_elements.size() == new_elements.size());
  switch (mode) {
    case DeltaMode::dense:
      return {mode, changes.count(), 0, {new_elements.begin(), new_elements.end()}};
    case DeltaMode::anchor:
      return {mode, changes.count(), 0, detail::compress_planes(new_elements, element_bytes)};
    case DeltaMode::conditioned:
      return conditioned(old_elements, new_elements, element_bytes);
    case DeltaMode::rice:
    case DeltaMode::overwrite:
    case DeltaMode::empty:
      break;
  }

  if (changes.count() == 0 && mode != DeltaMode::overwrite) return {};
  EncodedSegment segment;
  segment.changed = changes.count();
  segment.mode = mode == DeltaMode::overwrite ? mode : DeltaMode::rice;
  segment.payload = segment.mode == DeltaMode::rice
                        ? rice_payload(changes)
                        : overwrite_payload(changes, new_elements, element_bytes);
  if (mode != DeltaMode::empty) return segment;

  const std::size_t overwrite_bytes =
      (detail::gaps_bits(changes.positions) + 7) / 8 +
      changes.positions.size() * static_cast<std::size_t>(element_bytes);
  if (overwrite_bytes < segment.payload.size())
    segment = {DeltaMode::overwrite, segment.changed, 0,
               overwrite_payload(changes, new_elements, element_bytes)};
  if (element_bytes == 2) {
    EncodedSegment other = conditioned(old_elements, new_elements, element_bytes);
    if (other.payload.size() < segment.payload.size()) segment = std::move(other);
  }
  if (new_elements.size() < segment.payload.size())
    segment = {DeltaMode::dense, segment.changed, 0, {new_elements.begin(), new_elements.end()}};
  return segment;
}

void apply_segment(const EncodedSegment& segment, int element_bytes,
                   std::span<std::byte> elements) {
  check_width(element_bytes);
  check_size(elements.size(), element_bytes);
  const std::size_t count = elements.size() / static_cast<std::size_t>(element_bytes);
  if (segment.changed > count)
    bad_payload(fmt::format("{} changes in {} elements", segment.changed, count));
  switch (segment.mode) {
    case DeltaMode::empty:
      if (segment.changed != 0 || !segment.payload.empty())
        bad_payload(fmt::format("an empty segment of {} changes and {} bytes", segment.changed,
                                segment.payload.size()));
      return;
    case DeltaMode::rice:
      return apply_rice(segment.payload, segment.changed, element_bytes, elements);
    case DeltaMode::overwrite:
      return apply_overwrite(segment.payload, segment.changed, element_bytes, elements);
    case DeltaMode::dense:
      if (segment.payload.size() != elements.size())
        bad_payload(fmt::format("{} bytes of elements; {} are needed", segment.payload.size(),
                                elements.size()));
      std::ranges::copy(segment.payload, elements.begin());
      return;
    case DeltaMode::anchor:
      return detail::decompress_planes(segment.payload, element_bytes, elements);
    case DeltaMode::conditioned:
      if (element_bytes != 2)
        bad_payload(fmt::format("mode conditioned with elements of {} bytes; 2 is possible",
                                element_bytes));
      return detail::apply_conditioned(segment.payload, segment.changed, segment.threshold,
                                       elements);
  }
  bad_payload(
      fmt::format("mode {}, which this version doesn't know", static_cast<int>(segment.mode)));
}

}  // namespace refit
