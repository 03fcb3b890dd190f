#include <catch2/catch.hpp>

#include <algorithm>
#include <random>

#include "executor/copy_runs.h"
#include "executor/element_bits.h"
#include "executor/memory_space.h"
#include "executor/strided_box.h"

namespace refit::test {
namespace {

// The slow, obvious version: every byte's address, in the order of the stream.
void append_addresses(const StridedBox& box, std::size_t loop, std::byte* at,
                      std::vector<std::byte*>& addresses) {
  if (loop == box.loops.size()) {
    for (std::int64_t b = 0; b < box.run_bytes; ++b) addresses.push_back(at + b);
    return;
  }
  for (std::int64_t i = 0; i < box.loops[loop].count; ++i)
    append_addresses(box, loop + 1, at + i * box.loops[loop].stride_bytes, addresses);
}

std::vector<std::byte*> addresses_of(std::span<const StridedBox> boxes) {
  std::vector<std::byte*> addresses;
  for (const StridedBox& box : boxes) append_addresses(box, 0, box.base, addresses);
  return addresses;
}

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  std::int64_t up_to(std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(0, most)(engine_);
  }

  std::vector<std::byte> bytes(std::size_t n) {
    std::vector<std::byte> result(n);
    for (std::byte& b : result) b = static_cast<std::byte>(up_to(255));
    return result;
  }

  // Boxes of at least `bytes` bytes, one behind the other with gaps, no byte twice; the last run
  // longer than it need be. Runs of every kind that the copy knows: a power of two, odd, long.
  std::vector<StridedBox> boxes(std::byte* base, std::int64_t bytes) {
    std::vector<StridedBox> result;
    while (bytes > 0) {
      StridedBox box;
      const std::int64_t kind = up_to(3);
      box.run_bytes = kind == 0   ? std::int64_t{1} << up_to(8)
                      : kind == 1 ? 1 + up_to(300)
                      : kind == 2 ? 1 + up_to(20)
                                  : 1 + up_to(2000);
      if (up_to(15) == 0) box.run_bytes = 0;
      std::int64_t extent = box.run_bytes;  // of what is inside the next loop
      for (std::int64_t loops = up_to(4); loops > 0; --loops) {
        const std::int64_t stride = extent + (up_to(1) ? up_to(70) : 0);
        const std::int64_t count = 1 + up_to(5);
        box.loops.insert(box.loops.begin(), {count, stride});
        extent = stride * (count - 1) + extent;
      }
      base += up_to(9);
      box.base = base;
      base += extent;
      bytes -= box.bytes();
      result.push_back(std::move(box));
    }
    return result;
  }

 private:
  std::mt19937 engine_;
};

// Where two equally long buffers differ first; their size if nowhere. Names a place where printing
// both would take minutes.
std::size_t first_difference(const std::vector<std::byte>& a, const std::vector<std::byte>& b) {
  return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

constexpr std::size_t kRoom = 1 << 20;  // for 4096 bytes of stream in boxes with gaps

}  // namespace

TEST_CASE("boxes: a copy puts every byte where the obvious copy puts it, and no other",
          "[executor][oracle]") {
  const unsigned seed = GENERATE(range(1u, 60u));
  CAPTURE(seed);
  Random random(seed);
  const std::vector<std::byte> from = random.bytes(kRoom);
  std::vector<std::byte> to = random.bytes(kRoom);
  std::vector<std::byte> expected = to;
  const auto source = random.boxes(const_cast<std::byte*>(from.data()), 4096);
  const auto target = random.boxes(to.data(), 4096);
  const auto reads = addresses_of(source), writes = addresses_of(target);
  const std::size_t bytes = std::min(reads.size(), writes.size());
  for (std::size_t i = 0; i < bytes; ++i)
    expected[static_cast<std::size_t>(writes[i] - to.data())] = *reads[i];

  // In one go, and in pieces that end anywhere.
  const bool in_pieces = GENERATE(false, true);
  CAPTURE(in_pieces);
  BoxCursor reader(source), writer(target);
  for (auto left = static_cast<std::int64_t>(bytes); left > 0;) {
    const std::int64_t piece = in_pieces ? std::min(left, 1 + random.up_to(200)) : left;
    copy(reader, writer, piece);
    left -= piece;
  }
  REQUIRE(first_difference(to, expected) == to.size());
}

TEST_CASE("boxes: a cursor that steps and skips stands where the obvious walk stands",
          "[executor][oracle]") {
  const unsigned seed = GENERATE(range(1u, 60u));
  CAPTURE(seed);
  Random random(seed);
  std::vector<std::byte> memory(kRoom);
  const auto boxes = random.boxes(memory.data(), 4096);
  const auto addresses = addresses_of(boxes);
  BoxCursor cursor(boxes);
  for (std::size_t at = 0; at < addresses.size();) {
    REQUIRE_FALSE(cursor.done());
    const auto here = cursor.here();
    REQUIRE(here.data() == addresses[at]);
    REQUIRE(&here.back() == addresses[at + here.size() - 1]);
    const RunRow row = cursor.row();
    REQUIRE(row.run_bytes == static_cast<std::int64_t>(here.size()));
    const auto last = at + static_cast<std::size_t>((row.count - 1) * row.run_bytes);
    REQUIRE(row.first + (row.count - 1) * row.stride_bytes == addresses[last]);
    const auto left = static_cast<std::int64_t>(addresses.size() - at);
    const std::int64_t step = random.up_to(1) ? std::min(left, 1 + random.up_to(500))
                                              : 1 + random.up_to(row.run_bytes - 1);
    step <= row.run_bytes ? cursor.advance(step) : cursor.skip(step);
    at += static_cast<std::size_t>(step);
  }
  REQUIRE(cursor.done());
  REQUIRE(cursor.here().empty());
}

TEST_CASE("boxes: every length of run is copied whole, and nothing beside it", "[executor]") {
  for (std::int64_t run = 1; run <= 300; ++run) {
    CAPTURE(run);
    const std::int64_t count = 5, from_stride = run + 3, to_stride = run + 1;
    std::vector<std::byte> from = Random(7).bytes(static_cast<std::size_t>(count * from_stride));
    std::vector<std::byte> to(static_cast<std::size_t>(count * to_stride)), expected(to);
    for (std::int64_t i = 0; i < count * run; ++i)
      expected[static_cast<std::size_t>(i / run * to_stride + i % run)] =
          from[static_cast<std::size_t>(i / run * from_stride + i % run)];
    copy_runs({from.data(), run, count, from_stride}, {to.data(), run, count, to_stride});
    REQUIRE(first_difference(to, expected) == to.size());
  }
}

TEST_CASE("boxes: loops that go on where the inner one ends become one", "[executor]") {
  std::byte shard[192];
  // All of dims 0 and 1 of a [3, 4, 8] shard of 2-byte elements, columns 2 and 3: 12 runs of 4
  // bytes, 16 apart.
  const std::vector<IntervalSet> sides{Interval{0, 3}, Interval{0, 4}, Interval{0, 8}};
  StridedBox box = locate(shard, sides, {{0, 3}, {0, 4}, {2, 4}}, 2);
  REQUIRE(box.base == shard + 4);
  REQUIRE(box.run_bytes == 4);
  REQUIRE(box.loops.size() == 1);
  REQUIRE(box.loops[0].count == 12);
  REQUIRE(box.loops[0].stride_bytes == 16);
  // Rows 1 and 2 of dim 1 only: 2 runs, 16 apart, three times, 64 apart.
  box = locate(shard, sides, {{0, 3}, {1, 3}, {2, 4}}, 2);
  REQUIRE(box.base == shard + 16 + 4);
  REQUIRE(box.loops.size() == 2);
  REQUIRE(box.loops[0].count == 3);
  REQUIRE(box.loops[0].stride_bytes == 64);
}

TEST_CASE("boxes: a region lies where its elements lie", "[executor][oracle]") {
  const unsigned seed = GENERATE(range(1u, 60u));
  CAPTURE(seed);
  Random random(seed);
  const int size = 1 << random.up_to(3);
  const auto dims = static_cast<std::size_t>(1 + random.up_to(3));
  std::vector<IntervalSet> sides;
  Region region;
  for (std::size_t d = 0; d < dims; ++d) {
    // Two intervals with a hole between; the region is in one of them, often all of it.
    const std::int64_t a = random.up_to(3), b = a + 1 + random.up_to(3);
    const std::int64_t c = b + 1 + random.up_to(2), e = c + 1 + random.up_to(3);
    std::vector<Interval> both{{a, b}, {c, e}};
    if (random.up_to(1)) both.pop_back();
    const Interval home = both[static_cast<std::size_t>(random.up_to(1)) % both.size()];
    const std::int64_t begin = random.up_to(1) ? home.begin : home.end - 1;
    region.push_back({begin, home.end});
    sides.push_back(IntervalSet::of(both));
  }
  // Element by element, row-major, each side's rows counted over its intervals.
  std::vector<std::byte> shard(1 << 16);
  std::vector<std::byte*> expected;
  std::vector<std::int64_t> at;
  for (const Interval& side : region) at.push_back(side.begin);
  while (true) {
    std::int64_t element = 0;
    for (std::size_t d = 0; d < dims; ++d) {
      std::int64_t row = 0;
      for (const Interval& rows : sides[d].intervals())
        row += std::clamp(at[d] - rows.begin, std::int64_t{0}, rows.end - rows.begin);
      element = element * sides[d].size() + row;
    }
    for (int b = 0; b < size; ++b) expected.push_back(shard.data() + element * size + b);
    std::size_t d = dims;
    while (d > 0 && ++at[d - 1] == region[d - 1].end) {
      at[d - 1] = region[d - 1].begin;
      --d;
    }
    if (d == 0) break;
  }
  const StridedBox box = locate(shard.data(), sides, region, size);
  REQUIRE((addresses_of({&box, 1}) == expected));
}

TEST_CASE("host memory: an element of any size is filled and checked byte by byte",
          "[executor][oracle]") {
  const int size = GENERATE(1, 2, 4, 8);
  CAPTURE(size);
  // Rows 1..2 and columns 0..1 and 4..6 of a [4, 8] tensor.
  const std::vector<IntervalSet> sides{Interval{1, 3},
                                       IntervalSet::of({Interval{0, 2}, Interval{4, 7}})};
  const std::vector<std::int64_t> shape{4, 8};
  const ShardContent content{11, 3, size, sides, shape};
  std::vector<std::byte> shard(static_cast<std::size_t>(10 * size));
  host_memory().fill(shard.data(), content);
  std::size_t at = 0;
  for (const std::int64_t element : {8, 9, 12, 13, 14, 16, 17, 20, 21, 22}) {
    for (int b = 0; b < size; ++b)
      REQUIRE(shard[at++] == static_cast<std::byte>(element_bits(11, 3, element) >> (8 * b)));
  }
  REQUIRE(host_memory().check(shard.data(), content).count == 0);
  shard.back() ^= std::byte{1};  // of element 22
  shard.front() ^= std::byte{0x80};
  const WrongBytes wrong = host_memory().check(shard.data(), content);
  REQUIRE(wrong.count == 2);
  REQUIRE(wrong.first == std::vector<std::int64_t>{8, 22});
}

}  // namespace refit::test
