#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "delta/delta_file.h"
#include "delta/receiver.h"
#include "delta/segment_message.h"
#include "executor/delta/geometry.h"

namespace refit {

// What travels of one chunk: a head that says of which chunk and version it is and how each of its
// segments is coded, with a hash of its own, and the segments' codes. Where the elements lie is the
// plan's to know (DeltaGeometry).
//
// Chunks without content have an empty payload.
struct PayloadName {
  std::uint64_t plan = 0;          // DeltaGeometry::mark
  std::uint64_t base_version = 0;  // that of an anchor is its target's
  std::uint64_t target_version = 0;
  std::uint32_t chunk = 0;  // DeltaGeometry's number
  std::uint32_t anchor = 0;

  friend bool operator==(const PayloadName&, const PayloadName&) = default;
};

// Segments [first, first + count) of an index, with their codes, as a chunk's payload.
// `code` gives the code of a segment by its position in the index.
template <class Code>
std::string write_payload(const PayloadName& name, const DeltaIndex& index, std::size_t first,
                          std::size_t count, const Code& code);

// Reads one back into the same segments of another index, and appends its messages to `messages`.
// Error(check_failed), which begins with `where`, if it is not whole, not of this name, or damaged;
// the index is then as it was.
void read_payload(std::string_view payload, const PayloadName& name, std::string_view where,
                  std::size_t first, std::size_t count, DeltaIndex& index,
                  std::vector<SegmentMessage>& messages);

// A payload that is not what was sent, and why.
struct DamagedPayload {
  std::size_t chunk = 0;
  std::string why;
};

// Tells a receiver of `chunks`, ascending, of the version that `payloads` hold (by chunk; more may
// be there), and stages it: nothing is missing then. `name` is that of any of them, `who` begins
// messages. If payloads are damaged, nothing has happened. Error(check_failed), and nothing has
// happened: the version is not for these weights.
std::vector<DamagedPayload> stage_payloads(const DeltaGeometry& geometry,
                                           std::span<const std::size_t> chunks, PayloadName name,
                                           std::string_view who,
                                           const std::map<std::size_t, std::string>& payloads,
                                           DeltaReceiver& receiver);

std::size_t payload_head_bytes(std::size_t segments);

// How many of a payload's bytes are codes.
std::size_t payload_code_bytes(std::string_view payload, std::size_t segments);

namespace detail {

void put_payload_head(const PayloadName& name, const DeltaIndex& index, std::size_t first,
                      std::size_t count, std::string& out);

}  // namespace detail

template <class Code>
std::string write_payload(const PayloadName& name, const DeltaIndex& index, std::size_t first,
                          std::size_t count, const Code& code) {
  std::string out;
  if (count == 0) return out;
  detail::put_payload_head(name, index, first, count, out);
  for (std::size_t i = first; i < first + count; ++i) {
    const std::vector<std::byte>& bytes = code(i);
    out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return out;
}

}  // namespace refit
