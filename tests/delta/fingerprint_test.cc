#include <catch2/catch.hpp>

#include "delta/fingerprint.h"
#include "tests/delta/weights_case.h"

namespace refit {
namespace {

constexpr std::uint64_t kRows = 37;
constexpr std::uint64_t kColumns = 70;

// Elements of a box of a {37, 70} tensor, out of the whole.
ByteVector box_of(const ByteVector& whole, const DeltaBox& box, std::size_t width) {
  ByteVector part;
  for_each_run(box, 0, box.elements(), [&](std::uint64_t, std::uint64_t at, std::uint64_t count) {
    part.insert(part.end(), whole.begin() + static_cast<long>(at * width),
                whole.begin() + static_cast<long>((at + count) * width));
  });
  return part;
}

DeltaBox box(std::uint64_t row, std::uint64_t column, std::uint64_t rows, std::uint64_t columns) {
  return {2, {kRows, kColumns}, {row, column}, {rows, columns}};
}

// Sorted cuts from 0 to `size`.
std::vector<std::uint64_t> random_cuts(std::uint64_t size, std::mt19937_64& random) {
  std::vector<std::uint64_t> cuts{0, size};
  for (std::uint64_t i = random() % 5; i > 0; --i) cuts.push_back(random() % (size + 1));
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  return cuts;
}

TEST_CASE("fingerprint: a tensor has one, however it is cut", "[delta]") {
  const std::uint64_t seed = 11;
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  for (const int width : {1, 2, 4}) {
    ByteVector whole(kRows * kColumns * static_cast<std::size_t>(width));
    for (std::byte& byte : whole) byte = static_cast<std::byte>(random());
    const std::uint64_t expected = fingerprint(5, box(0, 0, kRows, kColumns), 0, whole, width);
    CHECK(expected == fingerprint(5, DeltaBox::whole(kRows * kColumns), 0, whole, width));
    CHECK(expected != fingerprint(6, box(0, 0, kRows, kColumns), 0, whole, width));
    for (int layout = 0; layout < 40; ++layout) {
      CAPTURE(width, layout);
      const auto rows = random_cuts(kRows, random);
      const auto columns = random_cuts(kColumns, random);
      std::uint64_t sum = 0;
      for (std::size_t r = 1; r < rows.size(); ++r) {
        for (std::size_t c = 1; c < columns.size(); ++c) {
          const DeltaBox part =
              box(rows[r - 1], columns[c - 1], rows[r] - rows[r - 1], columns[c] - columns[c - 1]);
          const ByteVector elements = box_of(whole, part, static_cast<std::size_t>(width));
          // In two stretches of the box, as segments are.
          const std::uint64_t cut = random() % (part.elements() + 1);
          const auto bytes = std::span<const std::byte>(elements);
          const std::size_t at = cut * static_cast<std::size_t>(width);
          sum += fingerprint(5, part, 0, bytes.first(at), width) +
                 fingerprint(5, part, cut, bytes.subspan(at), width);
        }
      }
      REQUIRE(sum == expected);
    }
  }
}

TEST_CASE("fingerprint: changes add to it what they change", "[delta]") {
  std::mt19937_64 random(12);
  const DeltaBox part = box(3, 9, 20, 41);
  const ByteVector before = random_weights(part.elements(), random);
  ByteVector after = updated(before, 50, random);
  after[0] = before[0] ^ std::byte{0x80};
  after.back() = before.back() ^ std::byte{0xff};
  for (const int width : {1, 2, 4}) {
    CAPTURE(width);
    const DeltaBox box{2, {37, 100}, {3, 9}, {20, 82 / static_cast<std::uint64_t>(width)}};
    const std::uint64_t cut = 333;  // elements; a segment ends there
    const auto bytes = static_cast<std::size_t>(width);
    std::uint64_t sum = fingerprint(2, box, 0, before, width);
    Changes changes;
    for (const auto& [from, to] :
         {std::pair(std::size_t{0}, cut * bytes), std::pair(cut * bytes, before.size())}) {
      const auto old_part = std::span<const std::byte>(before).subspan(from, to - from);
      scan(old_part, std::span<const std::byte>(after).subspan(from, to - from), width, changes);
      REQUIRE(changes.count() > 0);
      sum += fingerprint_change(2, box, from / bytes, old_part, changes, width);
    }
    CHECK(sum == fingerprint(2, box, 0, after, width));
  }
  CHECK(fingerprint_change(2, part, 0, before, {}, 2) == 0);
}

TEST_CASE("fingerprint: one flipped bit and two swapped elements show", "[delta]") {
  std::mt19937_64 random(13);
  ByteVector weights = random_weights(2000, random);
  const DeltaBox whole = DeltaBox::whole(2000);
  const std::uint64_t right = fingerprint(0, whole, 0, weights, 2);
  for (std::size_t bit = 0; bit < 8 * weights.size(); bit += 5) {
    weights[bit / 8] ^= std::byte{1} << (bit % 8);
    REQUIRE(fingerprint(0, whole, 0, weights, 2) != right);
    weights[bit / 8] ^= std::byte{1} << (bit % 8);
  }
  for (int i = 0; i < 2000; ++i) {
    const std::size_t a = 2 * (random() % 2000);
    const std::size_t b = 2 * (random() % 2000);
    if (std::memcmp(&weights[a], &weights[b], 2) == 0) continue;
    std::swap_ranges(weights.begin() + static_cast<long>(a),
                     weights.begin() + static_cast<long>(a) + 2,
                     weights.begin() + static_cast<long>(b));
    REQUIRE(fingerprint(0, whole, 0, weights, 2) != right);
    std::swap_ranges(weights.begin() + static_cast<long>(a),
                     weights.begin() + static_cast<long>(a) + 2,
                     weights.begin() + static_cast<long>(b));
  }
}

TEST_CASE("region memory: a region inside a shard is read and written where it lies", "[delta]") {
  // Rows 4..7 of a {8, 6} tensor of bytes are held; the region is rows 4..5, columns 3..5.
  ByteVector shard(24);
  for (std::size_t i = 0; i < shard.size(); ++i) shard[i] = static_cast<std::byte>(i);
  const RegionMemory region(shard, DeltaBox{2, {4, 6}, {0, 3}, {2, 3}}, 1);
  ByteVector scratch;
  const auto held = region.read(0, 6, scratch);
  CHECK((ByteVector(held.begin(), held.end()) == ByteVector{std::byte{3}, std::byte{4},
                                                            std::byte{5}, std::byte{9},
                                                            std::byte{10}, std::byte{11}}));
  region.write(2, ByteVector{std::byte{50}, std::byte{90}});
  CHECK(shard[5] == std::byte{50});
  CHECK(shard[9] == std::byte{90});
  CHECK(shard[6] == std::byte{6});
  // One run is given as it lies.
  CHECK(region.read(0, 3, scratch).data() == shard.data() + 3);
}

}  // namespace
}  // namespace refit
