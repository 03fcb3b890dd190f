#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "delta/hash.h"
#include "delta/region.h"
#include "delta/segment_codec.h"

namespace refit {

// RFD1, the file of one delta (docs/delta_format.md):
//
//   header | regions | segments | payload | trailer        each section at a multiple of 64 bytes
//
// A region is a box of a tensor and is cut into segments of `segment_elements`; each segment is
// encoded by itself. Header, regions and segments are the index: all there is to know before a byte
// of payload moves.

struct DeltaRegion {
  std::uint32_t id = 0;      // ascending in a delta; the plan says whose
  std::uint32_t tensor = 0;  // the plan's number of the tensor
  int element_bytes = 2;
  DeltaBox box;
  std::uint64_t base_fingerprint = 0;  // delta/fingerprint.h; 0 in an anchor
  std::uint64_t target_fingerprint = 0;

  // These follow from the others.
  std::uint64_t changed = 0;  // elements
  std::uint32_t first_segment = 0;
  std::uint32_t segments = 0;

  friend bool operator==(const DeltaRegion&, const DeltaRegion&) = default;
};

struct DeltaSegment {
  DeltaMode mode = DeltaMode::empty;
  std::uint8_t threshold = 0;
  std::uint32_t changed = 0;
  std::uint32_t payload_bytes = 0;
  std::uint64_t payload_hash = 0;  // XXH3 of the payload, and of the elements before and after
  std::uint64_t base_hash = 0;     // 0 in an anchor
  std::uint64_t target_hash = 0;

  // These follow from the others.
  std::uint64_t payload_offset = 0;  // in the payload section
  std::uint32_t region = 0;          // position in DeltaIndex::regions
  std::uint32_t elements = 0;
  std::uint64_t first_element = 0;  // in the region

  friend bool operator==(const DeltaSegment&, const DeltaSegment&) = default;
};

struct DeltaHeader {
  bool anchor = false;  // every element is in it: needs no base version
  std::uint32_t segment_elements = std::uint32_t{kMostSegmentElements};
  Hash128 model_id;
  Hash128 plan_hash;
  std::uint64_t base_version = 0;  // 0 in an anchor
  std::uint64_t target_version = 0;

  // These follow from the segments.
  Hash128 base_state;  // hash of all base hashes, that is of the weights; 0 in an anchor
  Hash128 target_state;
  std::uint64_t payload_bytes = 0;

  friend bool operator==(const DeltaHeader&, const DeltaHeader&) = default;
};

struct DeltaIndex {
  DeltaHeader header;
  std::vector<DeltaRegion> regions;
  std::vector<DeltaSegment> segments;

  std::uint64_t elements() const;
  std::uint64_t changed() const;
  std::uint64_t dense_bytes() const;

  friend bool operator==(const DeltaIndex&, const DeltaIndex&) = default;
};

// An index without changes yet: the regions cut into segments. REFIT_CHECKs the boxes.
DeltaIndex cut_into_segments(const DeltaHeader& header, std::vector<DeltaRegion> regions);

// Fills in what follows from the segments.
void complete(DeltaIndex& index);

// The position of a region's segment; nothing if there is none.
std::optional<std::size_t> find_segment(const DeltaIndex& index, std::uint32_t region_id,
                                        std::uint32_t segment);

// Names the geometry: regions' ids, tensors, widths and boxes, and the size of segments.
Hash128 geometry_hash(const DeltaIndex& index);

// The first sections of the file, with the zeros up to the payload.
std::vector<std::byte> write_delta_index(const DeltaIndex& index);
std::uint64_t delta_index_bytes(std::uint64_t regions, std::uint64_t segments);
std::uint64_t delta_file_bytes(const DeltaIndex& index);  // of the whole file

// Reads them back from a file's beginning, which may be longer. Error(bad_input), beginning with
// `where`, unless every field is as the format says; memory in proportion to the bytes given.
DeltaIndex read_delta_index(std::span<const std::byte> beginning, std::string_view where);

}  // namespace refit
