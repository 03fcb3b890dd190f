#pragma once

#include <cstdint>
#include <string_view>

#include "delta/segment_codec.h"

namespace refit {

// The key under which a segment is sent, asked for again and recognised when it comes twice.
struct SegmentName {
  std::uint64_t target_version = 0;
  std::uint32_t region = 0;   // id
  std::uint32_t segment = 0;  // in the region

  friend auto operator<=>(const SegmentName&, const SegmentName&) = default;
};

// A segment on its way, as the index has it or rewritten as new elements (overwrite, dense).
struct SegmentMessage {
  SegmentName name;
  EncodedSegment encoded;
  std::uint64_t payload_hash = 0;
};

// A segment that can't be applied as it was sent, and what would do.
struct RewriteRequest {
  SegmentName name;
  DeltaMode mode = DeltaMode::overwrite;  // or dense

  friend bool operator==(const RewriteRequest&, const RewriteRequest&) = default;
};

// What became of a message.
enum class Staged {
  taken,
  repeated,  // was there already
  stale,     // of another version than the announced one
  unknown,   // no such region or segment
  damaged,   // the payload is not what was sent: ask again
};

std::string_view to_string(Staged staged);

}  // namespace refit
