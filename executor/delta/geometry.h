#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "delta/container.h"
#include "models/refit.h"
#include "schedule/schedule.h"

namespace refit {

// The part of a fragment that a chunk of its parcel holds.
struct PlacedRegion {
  DeltaRegion delta;  // id, tensor (the class), width and box; nothing of a version
  Region region;      // the same box, in the coordinates of the class
};

// What a delta's regions are in a plan: all parts of all chunks, numbered over the whole plan, and
// so are the chunks themselves. It follows from the plan alone, so all ranks number alike and none
// says on the wire where anything lies.
class DeltaGeometry {
 public:
  // Error(bad_input): a tensor has elements of 8 bytes or more than 4 dims, or the plan has too
  // many regions to number.
  DeltaGeometry(const Refit& refit, const Schedule& schedule,
                std::uint32_t segment_elements = kMostSegmentElements);

  std::size_t chunks() const { return regions_of_chunk_.size() - 1; }
  std::size_t chunk(ParcelId parcel, int chunk) const {
    return first_chunk_[parcel.index()] + static_cast<std::size_t>(chunk);
  }
  std::span<const PlacedRegion> regions(std::size_t chunk) const {
    return std::span(regions_).subspan(regions_of_chunk_[chunk],
                                       regions_of_chunk_[chunk + 1] - regions_of_chunk_[chunk]);
  }
  std::size_t chunk_of_region(std::uint32_t id) const;
  std::uint32_t segments(std::size_t chunk) const;
  std::uint32_t segment_elements() const { return segment_elements_; }

  // Names the geometry of the whole plan.
  const Hash128& hash() const { return hash_; }
  std::uint64_t mark() const;  // eight bytes of it

  // The index of some chunks, ascending, without changes yet.
  DeltaIndex index_of(std::span<const std::size_t> chunks, const DeltaHeader& header) const;

 private:
  std::vector<std::size_t> first_chunk_;       // by parcel
  std::vector<std::size_t> regions_of_chunk_;  // by chunk, and one more
  std::vector<PlacedRegion> regions_;
  std::uint32_t segment_elements_;
  Hash128 hash_;
};

}  // namespace refit
