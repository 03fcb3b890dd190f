#pragma once

#include <cstddef>
#include <ostream>
#include <span>
#include <string>

#include "delta/container.h"

namespace refit {

// A delta in the container RFD1, as a file in memory (mapped, for a large one: only the index is
// copied). What can be known without reading the payload is checked here.
class DeltaFile {
 public:
  // Error(bad_input), beginning with `where`: see docs/delta_format.md for all the reasons.
  DeltaFile(std::span<const std::byte> bytes, std::string where);

  const DeltaIndex& index() const { return index_; }
  const std::string& where() const { return where_; }

  // Checks the payload's hash first: Error(bad_input).
  EncodedSegment segment(std::size_t position) const;

  // "x.rfd: region 3 segment 5", for messages.
  std::string place(std::size_t position) const;

 private:
  std::string where_;
  DeltaIndex index_;
  std::span<const std::byte> payload_;
};

// A segment with all that its table says of it.
struct SegmentChange {
  EncodedSegment encoded;
  std::uint64_t base_hash = 0;
  std::uint64_t target_hash = 0;
  std::uint64_t base_fingerprint = 0;  // of the segment; a region's is their sum
  std::uint64_t target_fingerprint = 0;
};

// Enters a segment into the index; complete() follows after the last one.
void enter(DeltaIndex& index, std::size_t position, const SegmentChange& change);

// Writes a container segment by segment; only the index stays in memory.
class DeltaWriter {
 public:
  // `geometry` is from cut_into_segments. The stream is a file: the index is written last, at its
  // beginning.
  DeltaWriter(std::ostream& out, DeltaIndex geometry);

  void add(const SegmentChange& change);  // in the order of the index
  const DeltaIndex& finish();

 private:
  std::ostream& out_;
  std::streampos begin_;
  DeltaIndex index_;
  std::size_t added_ = 0;
};

}  // namespace refit
