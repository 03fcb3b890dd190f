#include <catch2/catch.hpp>

#include <functional>
#include <optional>

#include <fmt/format.h>

#include "base/error.h"
#include "delta/detail/little_endian.h"
#include "delta/detail/wire_sizes.h"
#include "tests/delta/weights_case.h"

namespace refit {
namespace {

using detail::store_little;

// Two regions of 150 and 40 elements in segments of 64: 3 + 1 segments. Sections:
//   header 0, regions 128 (2 * 136 = 272, padded to 320), segments 448 (4 * 48 = 192), payload 640
constexpr std::size_t kRegions = 128;
constexpr std::size_t kSegments = 448;
constexpr std::size_t kPayload = 640;

struct Case {
  RegionSizes sizes{{150, 40}, 64};
  std::mt19937_64 random{7};
  ByteVector before = random_weights(190, random);
  ByteVector after = updated(before, 5, random);
  ByteVector file = delta_bytes(sizes, sizes.header(4, 5), before, after, DeltaMode::rice);
};

// As whoever changes a field on purpose would: hashes over it made right again.
void rehash(ByteVector& file) {
  const std::span<const std::byte> bytes(file);
  store_little(&file[112], hash64(bytes.subspan(kRegions, kPayload - kRegions)));
  store_little(&file[120], hash64(bytes.first(120)));
  const Hash128 index = Hasher128().add(bytes.first(kPayload)).digest();
  std::memcpy(&file[file.size() - 24], index.bytes.data(), 16);
}

std::string refusal(const ByteVector& file) {
  try {
    const DeltaFile read(file, "x.rfd");
    for (std::size_t i = 0; i < read.index().segments.size(); ++i) read.segment(i);
    return "";
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::bad_input);
    return error.what();
  }
}

TEST_CASE("container: what is written is read back, and applies", "[delta]") {
  const Case c;
  const DeltaFile file(c.file, "x.rfd");
  const DeltaIndex& index = file.index();
  CHECK(index.header.base_version == 4);
  CHECK(index.header.target_version == 5);
  REQUIRE(index.regions.size() == 2);
  REQUIRE(index.segments.size() == 4);
  CHECK(index.regions[1].first_segment == 3);
  CHECK(index.segments[2].elements == 150 - 2 * 64);
  CHECK(index.segments[2].first_element == 128);
  CHECK(index.elements() == 190);
  CHECK(index.dense_bytes() == 380);
  CHECK((applied_in_turn(c.sizes, file, c.before) == c.after));
  CHECK((write_delta_index(index) == ByteVector(c.file.begin(), c.file.begin() + kPayload)));

  std::uint64_t different = 0;
  for (std::size_t i = 0; i < c.before.size(); i += 2) {
    different += std::memcmp(&c.before[i], &c.after[i], 2) != 0 ? 1 : 0;
  }
  CHECK(index.changed() == different);
}

TEST_CASE("container: a delta without regions is a file, too", "[delta]") {
  const RegionSizes none{{}, 64};
  const ByteVector file = delta_bytes(none, none.header(1, 2), {}, {});
  CHECK(file.size() == 128 + 32);
  CHECK(DeltaFile(file, "x.rfd").index().segments.empty());
}

TEST_CASE("container: every single bit flipped anywhere is refused", "[delta]") {
  Case c;
  for (std::size_t at = 0; at < c.file.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      CAPTURE(at, bit);
      c.file[at] ^= std::byte{1} << bit;
      REQUIRE(!refusal(c.file).empty());
      c.file[at] ^= std::byte{1} << bit;
    }
  }
  CHECK(refusal(c.file).empty());
}

TEST_CASE("container: cut off anywhere it is refused, and says where it ends", "[delta]") {
  const Case c;
  for (std::size_t size = 0; size < c.file.size(); ++size) {
    CAPTURE(size);
    const std::string message = refusal({c.file.begin(), c.file.begin() + static_cast<long>(size)});
    const std::string part = size < kRegions   ? "x.rfd: header is cut off"
                             : size < kPayload ? "x.rfd: index is cut off"
                                               : "x.rfd: payload is cut off";
    REQUIRE(message.rfind(part, 0) == 0);
  }
  ByteVector longer = c.file;
  longer.push_back(std::byte{0});
  CHECK(refusal(longer) ==
        fmt::format("x.rfd: file has {} bytes, its index says {}: something follows the "
                    "trailer",
                    longer.size(), c.file.size()));
}

// A field set to a wrong value, all hashes right: its own reason.
struct Wrong {
  std::size_t at;
  std::size_t bytes;
  std::uint64_t value;
  const char* message;
};

void set(ByteVector& file, std::size_t at, std::size_t bytes, std::uint64_t value) {
  for (std::size_t i = 0; i < bytes; ++i) file[at + i] = static_cast<std::byte>(value >> (8 * i));
}

TEST_CASE("container: each field has its own reason to be refused", "[delta]") {
  // Of region 3 (150 elements): table at 128. Of region 13 (40 elements): table at 264.
  // Segments of 48 bytes from 448 on, the last, region 13's only one, at 592.
  const Wrong wrong[] = {
      {0, 1, 'S', "header.magic is not RFD1; this is no delta file"},
      {4, 2, 2, "header.version is 2; this program reads 1"},
      {6, 2, 2, "header.flags is 0x2; only bit 0 (anchor) has a meaning"},
      {6, 2, 1, "header.base_version is 4 in an anchor, which has no base; use 0"},
      {8, 4, 192, "header.header_bytes is 192; version 1 has 128"},
      {12, 4, 0, "header.segment_elements is 0; use 1 to 1048576"},
      {12, 4, (1 << 20) + 1, "header.segment_elements is 1048577; use 1 to 1048576"},
      {12, 4, 32, "region 13.first_segment is 3, the regions before it have 5 segments"},
      {48, 8, 5, "header.target_version is 5, not after base version 5"},
      {56, 8, 3, "header.target_version is 3, not after base version 4"},
      {64, 4, 1, "header.tables_hash is "},
      {64, 4, 3, "index is cut off: 3 regions and 4 segments are 768 bytes"},
      {68, 4, 3, "header.n_segments is 3, the regions have 4"},
      {68, 4, 0xffffffff,
       "index is cut off: 2 regions and 4294967295 segments are 206158430656 bytes"},
      {72, 8, 1, "header.payload_bytes is 1, the segments have "},
      {80, 1, 0, "header.base_state is "},
      {96, 1, 0, "header.target_state is "},
      {kRegions, 4, 13,
       "region 13.region_id does not come after 13; ids ascend and are there once"},
      {kRegions, 4, 14,
       "region 13.region_id does not come after 14; ids ascend and are there once"},
      {kRegions + 8, 1, 0, "region 3.ndim is 0; use 1 to 4"},
      {kRegions + 8, 1, 5, "region 3.ndim is 5; use 1 to 4"},
      {kRegions + 8, 1, 2,
       "region 3.shape[1] is 0; a dim is at least 1 and a tensor at most 2^62 bytes"},
      {kRegions + 9, 1, 3, "region 3.elem_bytes is 3; use 1, 2 or 4"},
      {kRegions + 10, 1, 1, "region 3.reserved is not zero; version 1 leaves it empty"},
      {kRegions + 12, 4, 1, "region 3.first_segment is 1, the regions before it have 0 segments"},
      {kRegions + 16, 8, 0,
       "region 3.shape[0] is 0; a dim is at least 1 and a tensor at most 2^62 bytes"},
      {kRegions + 16, 8, std::uint64_t{1} << 62,
       "region 3.shape[0] is 4611686018427387904; a dim is at least 1 and a tensor at most 2^62 "
       "bytes"},
      {kRegions + 24, 8, 1, "region 3.shape[1] is 1 beyond 1 dims; use 0"},
      {kRegions + 48, 8, 1, "region 3.offset[0] is 1; use at most 0"},
      {kRegions + 56, 8, 1, "region 3.offset[1] is 1 beyond 1 dims; use 0"},
      {kRegions + 80, 8, 0, "region 3.extent[0] is 0; use 1 to 150, the shape"},
      {kRegions + 80, 8, 151, "region 3.extent[0] is 151; use 1 to 150, the shape"},
      {kRegions + 88, 8, 1, "region 3.extent[1] is 1 beyond 1 dims; use 0"},
      {kRegions + 112, 8, 99, "region 3.n_changed is 99, its segments have "},
      {400, 1, 1, "padding after the regions is not zero; version 1 leaves it empty"},
      {kSegments, 8, 1, "region 3 segment 0.byte_offset is 1, the segments before it end at 0"},
      {kSegments + 8, 4, 0, "region 3 segment 1.byte_offset is "},
      {kSegments + 12, 4, 65, "region 3 segment 0.n_changed is 65 of 64 elements"},
      {kSegments + 16, 8, 1, "header.base_state is "},
      {kSegments + 24, 8, 1, "header.target_state is "},
      {kSegments + 32, 8, 1, "region 3 segment 0: payload hashes to "},
      {kSegments + 40, 1, 6, "region 3 segment 0.mode is 6; this program knows 0 to 5"},
      {kSegments + 40, 1, 0, "region 3 segment 0.bytes is "},
      {kSegments + 41, 1, 9, "region 3 segment 0.threshold is 9 in mode 1, which has none; use 0"},
      {kSegments + 42, 1, 1, "region 3 segment 0.reserved is not zero; version 1 leaves it empty"},
  };
  for (const Wrong& field : wrong) {
    CAPTURE(field.at, field.bytes, field.value);
    Case c;
    set(c.file, field.at, field.bytes, field.value);
    rehash(c.file);
    const std::string message = refusal(c.file);
    REQUIRE(message.rfind("x.rfd: ", 0) == 0);
    REQUIRE(message.substr(7).rfind(field.message, 0) == 0);
  }
}

TEST_CASE("container: damage without new hashes is known by the hash that covers it", "[delta]") {
  const std::pair<std::size_t, const char*> places[] = {
      {48, "x.rfd: header.header_hash is "},
      {120, "x.rfd: header.header_hash is "},
      {kRegions, "x.rfd: header.tables_hash is "},
      {kSegments, "x.rfd: header.tables_hash is "},
      {kPayload, "x.rfd: region 3 segment 0: payload hashes to "},
  };
  for (const auto& [at, message] : places) {
    CAPTURE(at);
    Case c;
    c.file[at] ^= std::byte{1};
    REQUIRE(refusal(c.file).rfind(message, 0) == 0);
  }
}

TEST_CASE("container: the trailer has its reasons, too", "[delta]") {
  const Case good;
  const std::size_t trailer = good.file.size() - 32;
  const std::pair<std::size_t, const char*> places[] = {
      {trailer - 1, "x.rfd: padding after the payload is not zero"},
      {trailer, "x.rfd: trailer.total_bytes is "},
      {trailer + 8, "x.rfd: trailer.index_hash is not that of the index"},
      {trailer + 24, "x.rfd: trailer.reserved is not zero"},
      {trailer + 28, "x.rfd: trailer.magic is not 1DFR"},
  };
  for (const auto& [at, message] : places) {
    CAPTURE(at);
    Case c;
    c.file[at] ^= std::byte{1};
    REQUIRE(refusal(c.file).rfind(message, 0) == 0);
  }
  // The end of another delta with equal sizes.
  Case other;
  ByteVector glued = good.file;
  other.file = delta_bytes(other.sizes, other.sizes.header(5, 6), other.before, other.after,
                           DeltaMode::rice);
  std::copy(other.file.end() - 32, other.file.end(), glued.end() - 32);
  CHECK(refusal(glued).rfind("x.rfd: trailer.index_hash is not that of the index", 0) == 0);
}

TEST_CASE("container: modes that can't be where they are, are refused", "[delta]") {
  Case c;
  // An empty segment whose hashes differ: region 13 in a delta without changes there.
  std::copy(c.before.begin() + 300, c.before.end(), c.after.begin() + 300);
  c.file = delta_bytes(c.sizes, c.sizes.header(4, 5), c.before, c.after, DeltaMode::rice);
  ByteVector file = c.file;
  set(file, kSegments + 3 * 48 + 24, 8, 5);
  rehash(file);
  CHECK(refusal(file) ==
        "x.rfd: region 13 segment 0.xxh3_target is not xxh3_base in an empty segment");
  file = c.file;
  set(file, kSegments + 3 * 48 + 12, 4, 1);
  rehash(file);
  CHECK(refusal(file) == "x.rfd: region 13 segment 0.n_changed is 1 in an empty segment; use 0");

  // `conditioned` in elements of one byte.
  file = c.file;
  set(file, kRegions + 9, 1, 1);
  set(file, kSegments + 40, 1, 2);
  rehash(file);
  CHECK(
      refusal(file) ==
      "x.rfd: region 3 segment 0.mode is 2 (conditioned), which is for elements of 2 bytes, not 1");

  // An anchor holds every element.
  DeltaHeader header = c.sizes.header(0, 5);
  header.anchor = true;
  const ByteVector anchor = delta_bytes(c.sizes, header, c.before, c.after, DeltaMode::dense);
  CHECK(refusal(anchor).empty());
  const std::pair<std::size_t, const char*> places[] = {
      {kRegions + 120, "x.rfd: region 3.fp_base is 0000000000000001 in an anchor"},
      {kSegments + 16, "x.rfd: region 3 segment 0.xxh3_base is 0000000000000001 in an anchor"},
      {kSegments + 40, "x.rfd: region 3 segment 0.mode is 1 in an anchor; use 4 or 5"},
      {80, "x.rfd: header.base_state is "},
  };
  for (const auto& [at, message] : places) {
    CAPTURE(at);
    file = anchor;
    set(file, at, 1, 1);
    rehash(file);
    REQUIRE(refusal(file).rfind(message, 0) == 0);
  }
}

}  // namespace
}  // namespace refit
