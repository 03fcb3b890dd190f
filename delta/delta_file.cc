#include "delta/delta_file.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"
#include "base/error.h"
#include "delta/detail/little_endian.h"
#include "delta/detail/wire_sizes.h"

namespace refit {
namespace {

using namespace detail;

constexpr char kTrailerMagic[4] = {'1', 'D', 'F', 'R'};

// The trailer binds the end of the file to its beginning: a file cut off, or glued from two, shows.
void write_trailer(std::uint64_t total_bytes, const Hash128& index_hash, std::byte* to) {
  store_little(to, total_bytes);
  std::memcpy(to + 8, index_hash.bytes.data(), 16);
  std::memcpy(to + 28, kTrailerMagic, 4);
}

void put(std::ostream& out, std::span<const std::byte> bytes) {
  out.write(reinterpret_cast<const char*>(bytes.data()),
            static_cast<std::streamsize>(bytes.size()));
}

}  // namespace

DeltaFile::DeltaFile(std::span<const std::byte> bytes, std::string where)
    : where_(std::move(where)), index_(read_delta_index(bytes, where_)) {
  const auto require = [this](bool holds, const std::string& problem) {
    if (!holds) throw Error(ErrorCode::bad_input, fmt::format("{}: {}", where_, problem));
  };
  const std::uint64_t index_bytes =
      delta_index_bytes(index_.regions.size(), index_.segments.size());
  const std::uint64_t room = bytes.size() - index_bytes;
  const std::uint64_t payload_bytes = index_.header.payload_bytes;
  require(room >= kTrailerBytes && payload_bytes <= room - kTrailerBytes &&
              aligned(payload_bytes) <= room - kTrailerBytes,
          fmt::format("payload is cut off: {} bytes of payload and {} of trailer follow the index, "
                      "{} are there",
                      payload_bytes, kTrailerBytes, room));
  const std::uint64_t total = delta_file_bytes(index_);
  require(bytes.size() == total,
          fmt::format("file has {} bytes, its index says {}: something follows the trailer",
                      bytes.size(), total));
  payload_ = bytes.subspan(index_bytes, payload_bytes);
  const auto padding =
      bytes.subspan(index_bytes + payload_bytes, aligned(payload_bytes) - payload_bytes);
  require(
      std::all_of(padding.begin(), padding.end(), [](std::byte b) { return b == std::byte{0}; }),
      "padding after the payload is not zero");

  const std::byte* trailer = bytes.data() + (total - kTrailerBytes);
  require(std::memcmp(trailer + 28, kTrailerMagic, 4) == 0,
          "trailer.magic is not 1DFR: the end of the file is damaged or missing");
  require(load_little<std::uint64_t>(trailer) == total,
          fmt::format("trailer.total_bytes is {}, the file has {}",
                      load_little<std::uint64_t>(trailer), total));
  std::byte right[kTrailerBytes] = {};
  write_trailer(total, Hasher128().add(bytes.first(index_bytes)).digest(), right);
  require(std::memcmp(trailer + 8, right + 8, 16) == 0,
          "trailer.index_hash is not that of the index: beginning and end are of different files");
  require(std::memcmp(trailer + 24, right + 24, 4) == 0,
          "trailer.reserved is not zero; version 1 leaves it empty");
}

EncodedSegment DeltaFile::segment(std::size_t position) const {
  const DeltaSegment& segment = index_.segments.at(position);
  const auto bytes = payload_.subspan(segment.payload_offset, segment.payload_bytes);
  const std::uint64_t hash = hash64(bytes);
  if (hash != segment.payload_hash) {
    throw Error(ErrorCode::bad_input,
                fmt::format("{}: payload hashes to {}, its table says {}: the payload is damaged",
                            place(position), to_hex(hash), to_hex(segment.payload_hash)));
  }
  return {segment.mode, segment.changed, segment.threshold, {bytes.begin(), bytes.end()}};
}

std::string DeltaFile::place(std::size_t position) const {
  const DeltaRegion& region = index_.regions[index_.segments.at(position).region];
  return fmt::format("{}: region {} segment {}", where_, region.id,
                     position - region.first_segment);
}

void enter(DeltaIndex& index, std::size_t position, const SegmentChange& change) {
  DeltaSegment& segment = index.segments.at(position);
  segment.mode = change.encoded.mode;
  segment.threshold = change.encoded.threshold;
  segment.changed = change.encoded.changed;
  segment.payload_bytes = static_cast<std::uint32_t>(change.encoded.payload.size());
  segment.payload_hash = hash64(change.encoded.payload);
  segment.base_hash = index.header.anchor ? 0 : change.base_hash;
  segment.target_hash = change.target_hash;
  DeltaRegion& region = index.regions[segment.region];
  if (!index.header.anchor) region.base_fingerprint += change.base_fingerprint;
  region.target_fingerprint += change.target_fingerprint;
}

DeltaWriter::DeltaWriter(std::ostream& out, DeltaIndex geometry)
    : out_(out), begin_(out.tellp()), index_(std::move(geometry)) {
  put(out_,
      std::vector<std::byte>(delta_index_bytes(index_.regions.size(), index_.segments.size())));
}

void DeltaWriter::add(const SegmentChange& change) {
  enter(index_, added_++, change);
  put(out_, change.encoded.payload);
}

const DeltaIndex& DeltaWriter::finish() {
  REFIT_CHECK(added_ == index_.segments.size());
  complete(index_);
  const std::vector<std::byte> index = write_delta_index(index_);
  const std::uint64_t payload_bytes = index_.header.payload_bytes;
  const std::uint64_t end = aligned(payload_bytes) - payload_bytes;
  std::vector<std::byte> rest(end + kTrailerBytes);
  write_trailer(delta_file_bytes(index_), Hasher128().add(index).digest(), rest.data() + end);
  put(out_, rest);
  out_.seekp(begin_);
  put(out_, index);
  out_.seekp(0, std::ios::end);
  return index_;
}

}  // namespace refit
