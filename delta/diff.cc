#include "delta/diff.h"

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "base/error.h"
#include "delta/fingerprint.h"
#include "delta/in_parallel.h"

namespace refit {

SegmentChange encode_change(const DeltaIndex& index, std::size_t position,
                            std::span<const std::byte> old_elements,
                            std::span<const std::byte> new_elements, DeltaMode mode,
                            const SegmentPrints* old_prints) {
  const DeltaSegment& segment = index.segments.at(position);
  const DeltaRegion& region = index.regions[segment.region];
  const int width = region.element_bytes;
  SegmentChange change;
  if (index.header.anchor) {
    REFIT_CHECK(mode == DeltaMode::dense || mode == DeltaMode::anchor);
    change.encoded = encode_segment(new_elements, new_elements, width, mode);
    change.target_hash = hash64(new_elements);
    change.target_fingerprint =
        fingerprint(region.tensor, region.box, segment.first_element, new_elements, width);
    return change;
  }
  if (mode == DeltaMode::conditioned && width != 2) mode = DeltaMode::rice;
  // Weights come from memory once: what looks at all of them does so block by block.
  thread_local Changes changes;
  Hasher64 base, target;
  bool same = true;
  scan(old_elements, new_elements, width, changes,
       [&](std::span<const std::byte> old_block, std::span<const std::byte> new_block) {
         if (same && changes.count() > 0) {
           same = false;
           target = base;
         }
         base.add(old_block);
         if (!same) target.add(new_block);
       });
  // Without changes there is nothing to say, in whichever mode.
  if (!same) change.encoded = encode_changes(changes, old_elements, new_elements, width, mode);
  change.base_hash = base.digest();
  change.target_hash = same ? change.base_hash : target.digest();
  change.base_fingerprint =
      old_prints != nullptr && old_prints->hash == change.base_hash
          ? old_prints->fingerprint
          : fingerprint(region.tensor, region.box, segment.first_element, old_elements, width);
  change.target_fingerprint =
      change.base_fingerprint + fingerprint_change(region.tensor, region.box, segment.first_element,
                                                   old_elements, changes, width);
  return change;
}

void write_segments(DeltaWriter& writer, std::size_t count, int threads,
                    const std::function<SegmentChange(std::size_t)>& make) {
  // A few per thread at a time: memory stays bounded, and a slow segment does not idle the others.
  const std::size_t batch = 8 * static_cast<std::size_t>(std::max(threads, 1));
  std::vector<SegmentChange> changes;
  for (std::size_t first = 0; first < count; first += batch) {
    changes.assign(std::min(batch, count - first), {});
    in_parallel(changes.size(), threads, [&](std::size_t i) { changes[i] = make(first + i); });
    for (const SegmentChange& change : changes) writer.add(change);
  }
}

SegmentState state_of(const DeltaIndex& index, std::size_t position,
                      std::span<const std::byte> elements) {
  const DeltaSegment& segment = index.segments.at(position);
  const std::uint64_t hash = hash64(elements);
  if (hash == segment.target_hash) return SegmentState::target;
  if (index.header.anchor || hash == segment.base_hash) return SegmentState::base;
  return SegmentState::torn;
}

bool reach_target(const DeltaIndex& index, std::size_t position, const EncodedSegment& encoded,
                  std::span<std::byte> elements) {
  const DeltaSegment& segment = index.segments.at(position);
  try {
    apply_segment(encoded, index.regions[segment.region].element_bytes, elements);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::bad_input) throw;
    return false;
  }
  return hash64(elements) == segment.target_hash;
}

}  // namespace refit
