#include <algorithm>
#include <cstring>
#include <string>

#include <fmt/format.h>

#include "base/error.h"
#include "delta/container.h"
#include "delta/detail/little_endian.h"
#include "delta/detail/wire_sizes.h"

namespace refit {
namespace {

using namespace detail;
using Bytes = std::span<const std::byte>;

constexpr char kMagic[4] = {'R', 'F', 'D', '1'};
constexpr std::uint16_t kVersion = 1;
constexpr std::uint16_t kAnchorFlag = 1;
constexpr std::size_t kTablesHashAt = 112;
constexpr std::size_t kHeaderHashAt = 120;
// A tensor's bytes, so that no product of ours wraps.
constexpr std::uint64_t kMostTensorBytes = std::uint64_t{1} << 62;

void store(std::byte* to, const Hash128& hash) { std::memcpy(to, hash.bytes.data(), 16); }

Hash128 load_hash(const std::byte* from) {
  Hash128 hash;
  std::memcpy(hash.bytes.data(), from, 16);
  return hash;
}

void write_region(const DeltaRegion& region, std::byte* to) {
  store_little(to, region.id);
  store_little(to + 4, region.tensor);
  store_little(to + 8, static_cast<std::uint8_t>(region.box.dims));
  store_little(to + 9, static_cast<std::uint8_t>(region.element_bytes));
  store_little(to + 12, region.first_segment);
  for (std::size_t d = 0; d < 4; ++d) {
    store_little(to + 16 + 8 * d, region.box.shape[d]);
    store_little(to + 48 + 8 * d, region.box.offset[d]);
    store_little(to + 80 + 8 * d, region.box.extent[d]);
  }
  store_little(to + 112, region.changed);
  store_little(to + 120, region.base_fingerprint);
  store_little(to + 128, region.target_fingerprint);
}

void write_segment(const DeltaSegment& segment, std::byte* to) {
  store_little(to, segment.payload_offset);
  store_little(to + 8, segment.payload_bytes);
  store_little(to + 12, segment.changed);
  store_little(to + 16, segment.base_hash);
  store_little(to + 24, segment.target_hash);
  store_little(to + 32, segment.payload_hash);
  store_little(to + 40, static_cast<std::uint8_t>(segment.mode));
  store_little(to + 41, segment.threshold);
}

// A field's name, as text only where it is complained of.
struct Field {
  const char* name;
  std::int64_t region = -1;
  std::int64_t segment = -1;
  int dim = -1;

  std::string text() const {
    std::string text;
    if (region >= 0) text = fmt::format("region {}", region);
    if (segment >= 0) text += fmt::format(" segment {}", segment);
    text += region >= 0 ? fmt::format(".{}", name) : name;
    if (dim >= 0) text += fmt::format("[{}]", dim);
    return text;
  }
};

// Reads an index and refuses it by name of the field.
class IndexReader {
 public:
  IndexReader(Bytes bytes, std::string_view where) : bytes_(bytes), where_(where) {}

  DeltaIndex read() {
    read_header();
    read_tables();
    check_states();
    return std::move(index_);
  }

 private:
  template <typename... Args>
  void require(bool holds, const Field& field, fmt::format_string<Args...> problem,
               Args&&... args) const {
    if (holds) return;
    throw Error(ErrorCode::bad_input,
                fmt::format("{}: {} {}", where_, field.text(),
                            fmt::format(problem, std::forward<Args>(args)...)));
  }

  template <typename Number>
  Number number(std::uint64_t at) const {
    return load_little<Number>(bytes_.data() + at);
  }

  void require_zeros(std::uint64_t begin, std::uint64_t end, const Field& field) const {
    const Bytes rest = bytes_.subspan(begin, end - begin);
    require(std::all_of(rest.begin(), rest.end(), [](std::byte b) { return b == std::byte{0}; }),
            field, "is not zero; version {} leaves it empty", kVersion);
  }

  void read_header() {
    require(bytes_.size() >= kHeaderBytes, Field{"header"}, "is cut off: {} of {} bytes are there",
            bytes_.size(), kHeaderBytes);
    require(std::memcmp(bytes_.data(), kMagic, 4) == 0, Field{"header.magic"},
            "is not RFD1; this is no delta file");
    const auto version = number<std::uint16_t>(4);
    require(version == kVersion, Field{"header.version"}, "is {}; this program reads {}", version,
            kVersion);
    const auto header_bytes = number<std::uint32_t>(8);
    require(header_bytes == kHeaderBytes, Field{"header.header_bytes"}, "is {}; version {} has {}",
            header_bytes, kVersion, kHeaderBytes);
    const auto hash = number<std::uint64_t>(kHeaderHashAt);
    const std::uint64_t right = hash64(bytes_.first(kHeaderHashAt));
    require(hash == right, Field{"header.header_hash"},
            "is {}, its bytes hash to {}: the header is damaged", to_hex(hash), to_hex(right));

    DeltaHeader& header = index_.header;
    const auto flags = number<std::uint16_t>(6);
    require((flags & ~kAnchorFlag) == 0, Field{"header.flags"},
            "is {:#x}; only bit 0 (anchor) has a meaning", flags);
    header.anchor = flags == kAnchorFlag;
    header.segment_elements = number<std::uint32_t>(12);
    require(header.segment_elements >= 1 && header.segment_elements <= kMostSegmentElements,
            Field{"header.segment_elements"}, "is {}; use 1 to {}", header.segment_elements,
            kMostSegmentElements);
    header.model_id = load_hash(bytes_.data() + 16);
    header.plan_hash = load_hash(bytes_.data() + 32);
    header.base_version = number<std::uint64_t>(48);
    header.target_version = number<std::uint64_t>(56);
    require(!header.anchor || header.base_version == 0, Field{"header.base_version"},
            "is {} in an anchor, which has no base; use 0", header.base_version);
    require(header.target_version > header.base_version, Field{"header.target_version"},
            "is {}, not after base version {}", header.target_version, header.base_version);
    header.payload_bytes = number<std::uint64_t>(72);
    header.base_state = load_hash(bytes_.data() + 80);
    header.target_state = load_hash(bytes_.data() + 96);
  }

  void read_tables() {
    const auto regions = number<std::uint32_t>(64);
    const auto segments = number<std::uint32_t>(68);
    const std::uint64_t whole = delta_index_bytes(regions, segments);
    require(bytes_.size() >= whole, Field{"index"},
            "is cut off: {} regions and {} segments are {} bytes with the header, {} are there",
            regions, segments, whole, bytes_.size());
    const auto hash = number<std::uint64_t>(kTablesHashAt);
    const std::uint64_t right = hash64(bytes_.subspan(kHeaderBytes, whole - kHeaderBytes));
    require(hash == right, Field{"header.tables_hash"},
            "is {}, the region and segment tables hash to {}: they are damaged", to_hex(hash),
            to_hex(right));

    index_.regions.reserve(regions);
    std::uint64_t segments_so_far = 0;
    for (std::uint32_t r = 0; r < regions; ++r) {
      segments_so_far += read_region(r, segments_so_far);
    }
    require(segments == segments_so_far, Field{"header.n_segments"}, "is {}, the regions have {}",
            segments, segments_so_far);
    const std::uint64_t table = kHeaderBytes + aligned(regions * kRegionBytes);
    require_zeros(kHeaderBytes + regions * kRegionBytes, table, Field{"padding after the regions"});

    index_.segments.reserve(segments);
    std::uint64_t offset = 0;
    for (DeltaRegion& region : index_.regions) {
      std::uint64_t changed = 0;
      for (std::uint32_t s = 0; s < region.segments; ++s) {
        const DeltaSegment& segment = read_segment(table, region, s, offset);
        offset += segment.payload_bytes;
        changed += segment.changed;
      }
      require(region.changed == changed, Field{"n_changed", region.id},
              "is {}, its segments have {}", region.changed, changed);
    }
    require_zeros(table + segments * kSegmentBytes, whole, Field{"padding after the segments"});
    require(offset == index_.header.payload_bytes, Field{"header.payload_bytes"},
            "is {}, the segments have {}", index_.header.payload_bytes, offset);
  }

  // Returns its number of segments.
  std::uint64_t read_region(std::uint32_t position, std::uint64_t first_segment) {
    const std::uint64_t at = kHeaderBytes + position * kRegionBytes;
    DeltaRegion region;
    region.id = number<std::uint32_t>(at);
    const auto field = [&](const char* name) { return Field{name, region.id}; };
    require(position == 0 || index_.regions.back().id < region.id, field("region_id"),
            "does not come after {}; ids ascend and are there once",
            position == 0 ? 0 : index_.regions.back().id);
    region.tensor = number<std::uint32_t>(at + 4);
    region.box.dims = number<std::uint8_t>(at + 8);
    require(region.box.dims >= 1 && region.box.dims <= 4, field("ndim"), "is {}; use 1 to 4",
            region.box.dims);
    region.element_bytes = number<std::uint8_t>(at + 9);
    require(region.element_bytes == 1 || region.element_bytes == 2 || region.element_bytes == 4,
            field("elem_bytes"), "is {}; use 1, 2 or 4", region.element_bytes);
    require_zeros(at + 10, at + 12, field("reserved"));
    read_box(region, at);
    region.changed = number<std::uint64_t>(at + 112);
    region.base_fingerprint = number<std::uint64_t>(at + 120);
    region.target_fingerprint = number<std::uint64_t>(at + 128);
    require(!index_.header.anchor || region.base_fingerprint == 0, field("fp_base"),
            "is {:016x} in an anchor, which has no base; use 0", region.base_fingerprint);

    const std::uint64_t segment = index_.header.segment_elements;
    const std::uint64_t segments = (region.box.elements() - 1) / segment + 1;
    region.first_segment = number<std::uint32_t>(at + 12);
    require(region.first_segment == first_segment, field("first_segment"),
            "is {}, the regions before it have {} segments", region.first_segment, first_segment);
    require(first_segment + segments <= UINT32_MAX, field("extent"),
            "makes {} segments in all; a delta has at most {}", first_segment + segments,
            UINT32_MAX);
    region.segments = static_cast<std::uint32_t>(segments);
    index_.regions.push_back(region);
    return segments;
  }

  void read_box(DeltaRegion& region, std::uint64_t at) const {
    std::uint64_t room = kMostTensorBytes / static_cast<std::uint64_t>(region.element_bytes);
    for (std::size_t d = 0; d < 4; ++d) {
      const auto shape = number<std::uint64_t>(at + 16 + 8 * d);
      const auto offset = number<std::uint64_t>(at + 48 + 8 * d);
      const auto extent = number<std::uint64_t>(at + 80 + 8 * d);
      const auto field = [&](const char* name) {
        return Field{name, region.id, -1, static_cast<int>(d)};
      };
      if (d >= static_cast<std::size_t>(region.box.dims)) {
        require(shape == 0, field("shape"), "is {} beyond {} dims; use 0", shape, region.box.dims);
        require(offset == 0, field("offset"), "is {} beyond {} dims; use 0", offset,
                region.box.dims);
        require(extent == 0, field("extent"), "is {} beyond {} dims; use 0", extent,
                region.box.dims);
        continue;
      }
      require(shape >= 1 && shape <= room, field("shape"),
              "is {}; a dim is at least 1 and a tensor at most 2^62 bytes", shape);
      room /= shape;
      require(extent >= 1 && extent <= shape, field("extent"), "is {}; use 1 to {}, the shape",
              extent, shape);
      require(offset <= shape - extent, field("offset"), "is {}; use at most {}", offset,
              shape - extent);
      region.box.shape[d] = shape;
      region.box.offset[d] = offset;
      region.box.extent[d] = extent;
    }
  }

  const DeltaSegment& read_segment(std::uint64_t table, const DeltaRegion& region,
                                   std::uint32_t in_region, std::uint64_t offset) {
    const std::uint64_t at =
        table + (region.first_segment + std::uint64_t{in_region}) * kSegmentBytes;
    const auto field = [&](const char* name) { return Field{name, region.id, in_region}; };
    const bool anchor = index_.header.anchor;
    DeltaSegment segment;
    segment.region = static_cast<std::uint32_t>(&region - index_.regions.data());
    segment.first_element = std::uint64_t{in_region} * index_.header.segment_elements;
    segment.elements = static_cast<std::uint32_t>(std::min<std::uint64_t>(
        index_.header.segment_elements, region.box.elements() - segment.first_element));
    segment.payload_offset = number<std::uint64_t>(at);
    require(segment.payload_offset == offset, field("byte_offset"),
            "is {}, the segments before it end at {}", segment.payload_offset, offset);
    segment.payload_bytes = number<std::uint32_t>(at + 8);
    segment.changed = number<std::uint32_t>(at + 12);
    require(segment.changed <= segment.elements, field("n_changed"), "is {} of {} elements",
            segment.changed, segment.elements);
    segment.base_hash = number<std::uint64_t>(at + 16);
    segment.target_hash = number<std::uint64_t>(at + 24);
    segment.payload_hash = number<std::uint64_t>(at + 32);
    const auto mode = number<std::uint8_t>(at + 40);
    require(mode <= static_cast<std::uint8_t>(DeltaMode::anchor), field("mode"),
            "is {}; this program knows 0 to {}", mode, static_cast<int>(DeltaMode::anchor));
    segment.mode = static_cast<DeltaMode>(mode);
    const bool whole = segment.mode == DeltaMode::dense || segment.mode == DeltaMode::anchor;
    require(!anchor || whole, field("mode"), "is {} in an anchor; use {} or {}", mode,
            static_cast<int>(DeltaMode::dense), static_cast<int>(DeltaMode::anchor));
    require(!anchor || segment.base_hash == 0, field("xxh3_base"),
            "is {:016x} in an anchor, which has no base; use 0", segment.base_hash);
    require(segment.mode != DeltaMode::conditioned || region.element_bytes == 2, field("mode"),
            "is {} (conditioned), which is for elements of 2 bytes, not {}", mode,
            region.element_bytes);
    segment.threshold = number<std::uint8_t>(at + 41);
    require(segment.threshold == 0 || segment.mode == DeltaMode::conditioned, field("threshold"),
            "is {} in mode {}, which has none; use 0", segment.threshold, mode);
    if (segment.mode == DeltaMode::empty) {
      require(segment.payload_bytes == 0, field("bytes"), "is {} in an empty segment; use 0",
              segment.payload_bytes);
      require(segment.changed == 0, field("n_changed"), "is {} in an empty segment; use 0",
              segment.changed);
      require(segment.base_hash == segment.target_hash, field("xxh3_target"),
              "is not xxh3_base in an empty segment");
    }
    require_zeros(at + 42, at + kSegmentBytes, field("reserved"));
    index_.segments.push_back(segment);
    return index_.segments.back();
  }

  void check_states() const {
    DeltaIndex right = index_;
    complete(right);
    const DeltaHeader& header = index_.header;
    require(header.base_state == right.header.base_state, Field{"header.base_state"},
            "is {}, the base hashes of the segments make {}", to_hex(header.base_state),
            to_hex(right.header.base_state));
    require(header.target_state == right.header.target_state, Field{"header.target_state"},
            "is {}, the target hashes of the segments make {}", to_hex(header.target_state),
            to_hex(right.header.target_state));
  }

  Bytes bytes_;
  std::string where_;
  DeltaIndex index_;
};

}  // namespace

std::vector<std::byte> write_delta_index(const DeltaIndex& index) {
  const DeltaHeader& header = index.header;
  std::vector<std::byte> bytes(delta_index_bytes(index.regions.size(), index.segments.size()));
  std::byte* to = bytes.data();
  std::memcpy(to, kMagic, 4);
  store_little(to + 4, kVersion);
  store_little(to + 6, header.anchor ? kAnchorFlag : std::uint16_t{0});
  store_little(to + 8, static_cast<std::uint32_t>(kHeaderBytes));
  store_little(to + 12, header.segment_elements);
  store(to + 16, header.model_id);
  store(to + 32, header.plan_hash);
  store_little(to + 48, header.base_version);
  store_little(to + 56, header.target_version);
  store_little(to + 64, static_cast<std::uint32_t>(index.regions.size()));
  store_little(to + 68, static_cast<std::uint32_t>(index.segments.size()));
  store_little(to + 72, header.payload_bytes);
  store(to + 80, header.base_state);
  store(to + 96, header.target_state);

  std::byte* table = to + kHeaderBytes;
  for (std::size_t r = 0; r < index.regions.size(); ++r) {
    write_region(index.regions[r], table + r * kRegionBytes);
  }
  table += aligned(index.regions.size() * kRegionBytes);
  for (std::size_t s = 0; s < index.segments.size(); ++s) {
    write_segment(index.segments[s], table + s * kSegmentBytes);
  }
  store_little(to + kTablesHashAt, hash64(Bytes(bytes).subspan(kHeaderBytes)));
  store_little(to + kHeaderHashAt, hash64(Bytes(bytes).first(kHeaderHashAt)));
  return bytes;
}

DeltaIndex read_delta_index(std::span<const std::byte> beginning, std::string_view where) {
  return IndexReader(beginning, where).read();
}

}  // namespace refit
