#include "executor/delta/payload.h"

#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/error.h"
#include "executor/detail/frame.h"

namespace refit {
namespace {

// As it lies in the payload.
struct CodedSegment {
  std::uint64_t payload_hash = 0, base_hash = 0, target_hash = 0;
  std::uint32_t changed = 0, payload_bytes = 0;
  DeltaMode mode = DeltaMode::empty;
  std::uint8_t threshold = 0;
  std::uint16_t zero = 0;
  std::uint32_t more_zero = 0;
};
static_assert(sizeof(CodedSegment) == 40 && sizeof(PayloadName) == 32);

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

[[noreturn]] void refuse(std::string_view where, const std::string& why) {
  throw Error(ErrorCode::check_failed, fmt::format("{}: {}", where, why));
}

std::string words(const PayloadName& name) {
  if (name.anchor != 0) return fmt::format("chunk {}, anchor {}", name.chunk, name.target_version);
  return fmt::format("chunk {}, version {} to {}", name.chunk, name.base_version,
                     name.target_version);
}

}  // namespace

std::size_t payload_head_bytes(std::size_t segments) {
  return segments == 0
             ? 0
             : sizeof(PayloadName) + segments * sizeof(CodedSegment) + sizeof(std::uint64_t);
}

std::size_t payload_code_bytes(std::string_view payload, std::size_t segments) {
  return payload.size() - payload_head_bytes(segments);
}

void detail::put_payload_head(const PayloadName& name, const DeltaIndex& index, std::size_t first,
                              std::size_t count, std::string& out) {
  put(out, name);
  for (std::size_t i = first; i < first + count; ++i) {
    const DeltaSegment& segment = index.segments[i];
    put(out, CodedSegment{segment.payload_hash, segment.base_hash, segment.target_hash,
                          segment.changed, segment.payload_bytes, segment.mode, segment.threshold});
  }
  put(out, hash64(bytes_of(out)));
}

void read_payload(std::string_view payload, const PayloadName& name, std::string_view where,
                  std::size_t first, std::size_t count, DeltaIndex& index,
                  std::vector<SegmentMessage>& messages) {
  const std::size_t head_bytes = payload_head_bytes(count);
  if (payload.size() < head_bytes)
    refuse(where, fmt::format("{} bytes are less than the head of {} segments, which has {}",
                              payload.size(), count, head_bytes));
  if (count == 0) {
    if (!payload.empty()) refuse(where, "a payload of a chunk without content");
    return;
  }
  std::string_view in = payload;
  const std::string_view hashed = payload.substr(0, head_bytes - sizeof(std::uint64_t));
  const auto found = detail::take<PayloadName>(in);
  std::vector<CodedSegment> segments(count);
  for (CodedSegment& segment : segments) segment = detail::take<CodedSegment>(in);
  if (detail::take<std::uint64_t>(in) != hash64(bytes_of(hashed)))
    refuse(where, "its head is damaged (its hash does not fit); send it again");
  if (found != name) refuse(where, fmt::format("is of {}, not of {}", words(found), words(name)));
  std::uint64_t code_bytes = 0;
  for (const CodedSegment& segment : segments) code_bytes += segment.payload_bytes;
  if (code_bytes != in.size())
    refuse(where,
           fmt::format("{} bytes of codes, but its segments have {}", in.size(), code_bytes));
  std::string_view codes = in;
  for (std::size_t i = 0; i < count; ++i) {
    if (hash64(bytes_of(codes.substr(0, segments[i].payload_bytes))) != segments[i].payload_hash)
      refuse(where, fmt::format("segment {} is damaged (its hash does not fit); send it again", i));
    codes.remove_prefix(segments[i].payload_bytes);
  }
  for (std::size_t i = 0; i < count; ++i) {
    const auto code = bytes_of(in.substr(0, segments[i].payload_bytes));
    in.remove_prefix(segments[i].payload_bytes);
    DeltaSegment& segment = index.segments[first + i];
    segment.mode = segments[i].mode;
    segment.threshold = segments[i].threshold;
    segment.changed = segments[i].changed;
    segment.payload_bytes = segments[i].payload_bytes;
    segment.payload_hash = segments[i].payload_hash;
    segment.base_hash = segments[i].base_hash;
    segment.target_hash = segments[i].target_hash;
    if (segment.mode == DeltaMode::empty) continue;  // needs no message
    const DeltaRegion& region = index.regions[segment.region];
    SegmentMessage message;
    message.name = {name.target_version, region.id,
                    static_cast<std::uint32_t>(first + i) - region.first_segment};
    message.encoded = {
        segment.mode, segment.changed, segment.threshold, {code.begin(), code.end()}};
    message.payload_hash = segment.payload_hash;
    messages.push_back(std::move(message));
  }
}

std::vector<DamagedPayload> stage_payloads(const DeltaGeometry& geometry,
                                           std::span<const std::size_t> chunks, PayloadName name,
                                           std::string_view who,
                                           const std::map<std::size_t, std::string>& payloads,
                                           DeltaReceiver& receiver) {
  DeltaHeader header;
  header.anchor = name.anchor != 0;
  header.base_version = header.anchor ? 0 : name.base_version;
  header.target_version = name.target_version;
  DeltaIndex index = geometry.index_of(chunks, header);
  std::vector<SegmentMessage> messages;
  std::vector<DamagedPayload> damaged;
  std::size_t first = 0;
  for (const std::size_t chunk : chunks) {
    const std::size_t count = geometry.segments(chunk);
    const auto payload = payloads.find(chunk);
    name.plan = geometry.mark();
    name.chunk = static_cast<std::uint32_t>(chunk);
    try {
      read_payload(payload == payloads.end() ? std::string_view() : payload->second, name,
                   fmt::format("{}, payload of chunk {}", who, chunk), first, count, index,
                   messages);
    } catch (const Error& error) {
      damaged.push_back({chunk, error.what()});
    }
    first += count;
  }
  if (!damaged.empty()) return damaged;
  complete(index);
  try {
    receiver.announce(index);
  } catch (const Error& error) {
    throw Error(ErrorCode::check_failed, fmt::format("{}: {}", who, error.what()));
  }
  for (SegmentMessage& message : messages) {
    const Staged staged = receiver.stage(std::move(message));
    REFIT_CHECK(staged == Staged::taken || staged == Staged::repeated);
  }
  REFIT_CHECK(receiver.missing().empty());
  return damaged;
}

}  // namespace refit
