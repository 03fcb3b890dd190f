#include "delta/container.h"

#include <algorithm>

#include "base/check.h"
#include "delta/detail/wire_sizes.h"

namespace refit {

std::uint64_t DeltaIndex::elements() const {
  std::uint64_t sum = 0;
  for (const DeltaRegion& region : regions) sum += region.box.elements();
  return sum;
}

std::uint64_t DeltaIndex::changed() const {
  std::uint64_t sum = 0;
  for (const DeltaRegion& region : regions) sum += region.changed;
  return sum;
}

std::uint64_t DeltaIndex::dense_bytes() const {
  std::uint64_t sum = 0;
  for (const DeltaRegion& region : regions) {
    sum += region.box.elements() * static_cast<std::uint64_t>(region.element_bytes);
  }
  return sum;
}

DeltaIndex cut_into_segments(const DeltaHeader& header, std::vector<DeltaRegion> regions) {
  REFIT_CHECK(header.segment_elements >= 1 && header.segment_elements <= kMostSegmentElements);
  DeltaIndex index{header, std::move(regions), {}};
  for (std::size_t r = 0; r < index.regions.size(); ++r) {
    DeltaRegion& region = index.regions[r];
    REFIT_CHECK(r == 0 || index.regions[r - 1].id < region.id);
    const std::uint64_t elements = region.box.elements();
    REFIT_CHECK(elements > 0);
    region.first_segment = static_cast<std::uint32_t>(index.segments.size());
    for (std::uint64_t first = 0; first < elements; first += header.segment_elements) {
      DeltaSegment segment;
      segment.region = static_cast<std::uint32_t>(r);
      segment.first_element = first;
      segment.elements = static_cast<std::uint32_t>(
          std::min<std::uint64_t>(header.segment_elements, elements - first));
      index.segments.push_back(segment);
    }
    region.segments = static_cast<std::uint32_t>(index.segments.size()) - region.first_segment;
  }
  REFIT_CHECK(index.segments.size() <= UINT32_MAX);
  return index;
}

void complete(DeltaIndex& index) {
  Hasher128 base;
  Hasher128 target;
  std::uint64_t offset = 0;
  for (DeltaRegion& region : index.regions) region.changed = 0;
  for (DeltaSegment& segment : index.segments) {
    base.add(segment.base_hash);
    target.add(segment.target_hash);
    segment.payload_offset = offset;
    offset += segment.payload_bytes;
    index.regions[segment.region].changed += segment.changed;
  }
  index.header.base_state = index.header.anchor ? Hash128{} : base.digest();
  index.header.target_state = target.digest();
  index.header.payload_bytes = offset;
}

std::optional<std::size_t> find_segment(const DeltaIndex& index, std::uint32_t region_id,
                                        std::uint32_t segment) {
  const auto region = std::ranges::lower_bound(index.regions, region_id, {}, &DeltaRegion::id);
  if (region == index.regions.end() || region->id != region_id || segment >= region->segments) {
    return std::nullopt;
  }
  return region->first_segment + std::size_t{segment};
}

Hash128 geometry_hash(const DeltaIndex& index) {
  Hasher128 hash;
  hash.add(std::uint64_t{index.header.segment_elements});
  for (const DeltaRegion& region : index.regions) {
    hash.add(std::uint64_t{region.id}).add(std::uint64_t{region.tensor});
    hash.add(static_cast<std::uint64_t>(region.element_bytes));
    hash.add(static_cast<std::uint64_t>(region.box.dims));
    for (std::size_t d = 0; d < 4; ++d) {
      hash.add(region.box.shape[d]).add(region.box.offset[d]).add(region.box.extent[d]);
    }
  }
  return hash.digest();
}

std::uint64_t delta_index_bytes(std::uint64_t regions, std::uint64_t segments) {
  using namespace detail;
  return kHeaderBytes + aligned(regions * kRegionBytes) + aligned(segments * kSegmentBytes);
}

std::uint64_t delta_file_bytes(const DeltaIndex& index) {
  return delta_index_bytes(index.regions.size(), index.segments.size()) +
         detail::aligned(index.header.payload_bytes) + detail::kTrailerBytes;
}

}  // namespace refit
