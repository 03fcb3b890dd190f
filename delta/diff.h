#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "delta/delta_file.h"

namespace refit {

// What elements hash to, and their fingerprint.
struct SegmentPrints {
  std::uint64_t hash = 0, fingerprint = 0;
};

// Encodes a segment of an index from its elements before and after. `mode` is as for
// encode_segment; `conditioned` where it can't be (elements of 1 or 4 bytes) is `rice`. In an
// anchor the old elements do not matter and `mode` is dense or anchor. `old_prints`, of what the
// old elements were once, spares their fingerprint, half of the work, if they still are.
SegmentChange encode_change(const DeltaIndex& index, std::size_t position,
                            std::span<const std::byte> old_elements,
                            std::span<const std::byte> new_elements, DeltaMode mode,
                            const SegmentPrints* old_prints = nullptr);

// Makes the changes of all segments on `threads` threads and writes them in order.
void write_segments(DeltaWriter& writer, std::size_t count, int threads,
                    const std::function<SegmentChange(std::size_t)>& make);

enum class SegmentState {
  base,    // as before the delta; in an anchor: whatever is not target
  target,  // as after it
  torn,    // neither: a crash came between, or the weights are not those the delta was made for
};

SegmentState state_of(const DeltaIndex& index, std::size_t position,
                      std::span<const std::byte> elements);

// Applies an encoding to a copy of the elements. True if the result hashes to the target: only such
// elements ever replace weights.
bool reach_target(const DeltaIndex& index, std::size_t position, const EncodedSegment& encoded,
                  std::span<std::byte> elements);

}  // namespace refit
