#include "executor/cuda/box_parts.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace refit {
namespace {

// The widest access of 16, 8, 4, 2 or 1 bytes that fits everything whose bits were collected.
std::int32_t widest_access(std::uint64_t bits) {
  return 1 << std::min(std::countr_zero(bits | 16), 4);
}

std::uint64_t bits_of(const std::byte* address) { return std::bit_cast<std::uint64_t>(address); }

}  // namespace

void BoxParts::add(std::span<const StridedBox> boxes, std::int64_t begin, std::int64_t end,
                   std::byte* dense) {
  std::int64_t at = 0;  // of the box in the stream
  for (const StridedBox& box : boxes) {
    const std::int64_t bytes = box.bytes();
    const std::int64_t from = std::max(begin, at), to = std::min(end, at + bytes);
    if (from < to) {
      BoxPart part;
      part.base = box.base;
      part.dense = dense + (from - begin);
      part.skip = from - at;
      part.bytes = to - from;
      part.run_bytes = box.run_bytes;
      part.first_tile = tiles;
      REFIT_CHECK(box.loops.size() <= BoxPart::kMostLoops);
      std::uint64_t bits = bits_of(part.base) | bits_of(part.dense);
      for (const std::int64_t size : {part.skip, part.bytes})
        bits |= static_cast<std::uint64_t>(size);
      if (!box.loops.empty()) bits |= static_cast<std::uint64_t>(box.run_bytes);
      for (const StridedBox::Loop& loop : box.loops) {
        part.count[part.loops] = loop.count;
        part.stride[part.loops] = loop.stride_bytes;
        ++part.loops;
        bits |= static_cast<std::uint64_t>(loop.stride_bytes);
      }
      part.width = widest_access(bits);
      tiles += (part.bytes + kTileBytes - 1) / kTileBytes;
      parts.push_back(part);
    }
    at += bytes;
  }
  REFIT_CHECK(end <= at);
}

std::byte* contiguous_base(std::span<const StridedBox> boxes) {
  if (boxes.empty()) return nullptr;
  const std::byte* next = boxes.front().base;
  for (const StridedBox& box : boxes) {
    if (!box.loops.empty() || box.base != next) return nullptr;
    next = box.base + box.run_bytes;
  }
  return boxes.front().base;
}

}  // namespace refit
