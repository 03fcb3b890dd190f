#include <catch2/catch.hpp>

#include <numeric>
#include <random>

#include <cuda_runtime.h>

#include "executor/cuda/box_parts.h"
#include "executor/cuda/device_memory.h"
#include "executor/cuda/pack.h"
#include "tests/executor/cuda_place.h"

namespace refit::test {
namespace {

using Bytes = std::vector<std::byte>;

Bytes read(const std::byte* device, std::int64_t bytes) {
  Bytes host(static_cast<std::size_t>(bytes));
  REQUIRE(cudaMemcpy(host.data(), device, host.size(), cudaMemcpyDeviceToHost) == cudaSuccess);
  return host;
}

void write(std::byte* device, const Bytes& host) {
  REQUIRE(cudaMemcpy(device, host.data(), host.size(), cudaMemcpyHostToDevice) == cudaSuccess);
}

int uniform(std::mt19937& random, int low, int high) {
  return std::uniform_int_distribution(low, high)(random);
}

// Every third row and the like: intervals with gaps.
IntervalSet random_rows(std::mt19937& random, std::int64_t rows) {
  std::vector<Interval> intervals;
  for (std::int64_t at = uniform(random, 0, 2); at < rows;) {
    const std::int64_t end = std::min<std::int64_t>(rows, at + uniform(random, 1, 4));
    intervals.push_back({at, end});
    at = end + uniform(random, 1, 3);
  }
  if (intervals.empty()) intervals.push_back({0, 1});
  return IntervalSet::of(intervals);
}

// Boxes that follow one another in `bytes` bytes from `base`, of elements of `element` bytes.
std::vector<StridedBox> random_boxes(std::mt19937& random, std::byte* base, std::int64_t bytes,
                                     int element) {
  std::vector<StridedBox> boxes;
  std::int64_t at = element * uniform(random, 0, 3);
  while (true) {
    StridedBox box;
    box.base = base + at;
    box.run_bytes = element * uniform(random, 1, 40);
    std::int64_t extent = box.run_bytes;
    std::vector<StridedBox::Loop> inner_first;
    for (int loop = uniform(random, 0, 3); loop > 0; --loop) {
      const std::int64_t stride = extent + element * uniform(random, 0, 5);
      const std::int64_t count = uniform(random, 1, 5);
      inner_first.push_back({count, stride});
      extent = stride * (count - 1) + extent;
    }
    box.loops.assign(inner_first.rbegin(), inner_first.rend());
    if (at + extent > bytes) return boxes;
    boxes.push_back(box);
    at += extent + element * uniform(random, 0, 3);
  }
}

Bytes numbered(std::int64_t bytes, unsigned seed) {
  std::mt19937 random(seed);
  Bytes result(static_cast<std::size_t>(bytes));
  for (std::byte& b : result) b = static_cast<std::byte>(random() & 0xff);
  return result;
}

// The same box in another buffer.
std::vector<StridedBox> moved(std::vector<StridedBox> boxes, const std::byte* from, std::byte* to) {
  for (StridedBox& box : boxes) box.base = to + (box.base - from);
  return boxes;
}

}  // namespace

TEST_CASE("kernels: fill and check agree with the host's, gaps and all", REFIT_PLACE) {
  const unsigned seed = GENERATE(range(1u, 13u));
  const auto order = GridRun::kOrders[seed % GridRun::kOrders.size()];
  CAPTURE(seed, order);
  const GridRun grid(order);
  std::mt19937 random(seed);
  const int element = 1 << uniform(random, 0, 3);
  std::vector<std::int64_t> shape;
  std::vector<IntervalSet> sides;
  std::int64_t elements = 1;
  for (int dims = uniform(random, 1, 4); dims > 0; --dims) {
    shape.push_back(uniform(random, 1, 12));
    sides.push_back(random_rows(random, shape.back()));
    elements *= sides.back().size();
  }
  const ShardContent content{seed, 3, element, sides, shape};
  const std::int64_t bytes = elements * element;
  {
    DeviceMemory device;
    SpaceBuffer on_device(device, bytes), on_host(host_memory(), bytes);
    device.fill(on_device.data(), content);
    host_memory().fill(on_host.data(), content);
    const Bytes expected(on_host.data(), on_host.data() + bytes);
    REQUIRE(read(on_device.data(), bytes) == expected);
    REQUIRE(device.check(on_device.data(), content).count == 0);

    // Two wrong bytes in two elements: both are counted, the first is named as the host names it.
    Bytes wrong = expected;
    wrong[static_cast<std::size_t>(bytes / 2)] ^= std::byte{1};
    wrong[static_cast<std::size_t>(bytes - 1)] ^= std::byte{128};
    write(on_device.data(), wrong);
    std::copy(wrong.begin(), wrong.end(), on_host.data());
    const WrongBytes found = device.check(on_device.data(), content);
    const WrongBytes of_host = host_memory().check(on_host.data(), content);
    REQUIRE(found.count == of_host.count);
    REQUIRE(found.count == (bytes / 2 == bytes - 1 ? 1 : 2));
    REQUIRE(found.first.front() == of_host.first.front());
  }
  REFIT_REQUIRE_CLEAN();
}

TEST_CASE("kernels: an element holds the low bytes of element_bits", REFIT_PLACE) {
  // Row 5 of [8, 4] u16, columns 1 to 3: elements 21, 22, 23.
  const std::vector<IntervalSet> sides{Interval{5, 6}, Interval{1, 4}};
  const std::vector<std::int64_t> shape{8, 4};
  {
    DeviceMemory device;
    SpaceBuffer shard(device, 6);
    device.fill(shard.data(), {7, 2, 2, sides, shape});
    const Bytes found = read(shard.data(), 6);
    for (std::size_t i = 0; i < 3; ++i) {
      const std::uint64_t bits = element_bits(7, 2, 21 + static_cast<std::int64_t>(i));
      REQUIRE(std::to_integer<std::uint64_t>(found[2 * i]) == (bits & 0xff));
      REQUIRE(std::to_integer<std::uint64_t>(found[2 * i + 1]) == (bits >> 8 & 0xff));
    }
  }
  REFIT_REQUIRE_CLEAN();
}

TEST_CASE("kernels: accesses are as wide as every address, run and stride allow", REFIT_PLACE) {
  alignas(16) static std::byte memory[1024];
  const auto width = [](std::byte* base, std::int64_t run, std::int64_t stride, std::byte* dense) {
    const StridedBox box{base, run, {{4, stride}}};
    BoxParts parts;
    parts.add({&box, 1}, 0, box.bytes(), dense);
    return parts.parts.front().width;
  };
  REQUIRE(width(memory, 32, 64, memory) == 16);
  REQUIRE(width(memory, 8, 64, memory) == 8);   // the run is shorter
  REQUIRE(width(memory, 32, 36, memory) == 4);  // the second run begins at 36
  REQUIRE(width(memory + 2, 32, 64, memory) == 2);
  REQUIRE(width(memory, 32, 64, memory + 1) == 1);  // the dense side lies badly
  REQUIRE(width(memory, 2, 6, memory) == 2);        // one bf16 column
}

TEST_CASE("kernels: packing and unpacking strided boxes is what the byte cursor does",
          REFIT_PLACE) {
  const unsigned seed = GENERATE(range(1u, 21u));
  const auto order = GridRun::kOrders[seed % GridRun::kOrders.size()];
  CAPTURE(seed, order);
  const GridRun grid(order);
  std::mt19937 random(seed);
  const int element = 1 << uniform(random, 0, 4);
  const std::int64_t bytes = 1 << uniform(random, 8, 16);
  const Bytes content = numbered(bytes, seed + 100);
  {
    DeviceMemory device;
    SpaceBuffer memory(device, bytes), dense(device, bytes), other(device, bytes);
    write(memory.data(), content);
    device.poison(other.data(), bytes);
    const auto boxes = random_boxes(random, memory.data(), bytes, element);
    std::int64_t packed = 0;
    for (const StridedBox& box : boxes) packed += box.bytes();
    if (packed == 0) return;
    const StridedBox whole = contiguous(dense.data(), packed);
    device.copy(boxes, {&whole, 1});

    Bytes host = content, expected(static_cast<std::size_t>(packed));
    const auto on_host = moved(boxes, memory.data(), host.data());
    const StridedBox to = contiguous(expected.data(), packed);
    host_memory().copy(on_host, {&to, 1});
    REQUIRE(read(dense.data(), packed) == expected);

    // Back to the same places of another buffer; nothing else there changes.
    device.copy({&whole, 1}, moved(boxes, memory.data(), other.data()));
    Bytes target(static_cast<std::size_t>(bytes), kPoison);
    host_memory().copy({&to, 1}, moved(boxes, memory.data(), target.data()));
    REQUIRE(read(other.data(), bytes) == target);

    // And from boxes to boxes.
    device.poison(other.data(), bytes);
    device.copy(boxes, moved(boxes, memory.data(), other.data()));
    REQUIRE(read(other.data(), bytes) == target);
  }
  REFIT_REQUIRE_CLEAN();
}

TEST_CASE("kernels: any stretch of a stream can be packed alone", REFIT_PLACE) {
  const unsigned seed = GENERATE(range(1u, 9u));
  const auto order = GridRun::kOrders[seed % GridRun::kOrders.size()];
  CAPTURE(seed, order);
  const GridRun grid(order);
  std::mt19937 random(seed);
  const std::int64_t bytes = 4096;
  const Bytes content = numbered(bytes, seed);
  {
    DeviceMemory device;
    Stream stream;
    PartTable table;
    SpaceBuffer memory(device, bytes), dense(device, bytes);
    write(memory.data(), content);
    const auto boxes = random_boxes(random, memory.data(), bytes, 2);
    std::int64_t packed = 0;
    for (const StridedBox& box : boxes) packed += box.bytes();
    const std::int64_t piece = 16 * uniform(random, 1, 20);
    for (std::int64_t begin = 0; begin < packed; begin += piece) {
      BoxParts parts;
      parts.add(boxes, begin, std::min(begin + piece, packed), dense.data() + begin);
      table.upload(parts, {}, stream.get());
      REQUIRE(launch_pack(table.first(), static_cast<int>(parts.parts.size()), parts.tiles,
                          stream.get()) == cudaSuccess);
      stream.synchronize();
    }
    Bytes host = content, expected(static_cast<std::size_t>(packed));
    const StridedBox to = contiguous(expected.data(), packed);
    host_memory().copy(moved(boxes, memory.data(), host.data()), {&to, 1});
    REQUIRE(read(dense.data(), packed) == expected);
  }
  REFIT_REQUIRE_CLEAN();
}

// A launch may have fewer blocks than there is work; each then comes back for more.
TEST_CASE("kernels: a few blocks that take all tiles in turn copy what one block per tile copies",
          REFIT_PLACE) {
  const auto order = GENERATE(from_range(GridRun::kOrders));
  const unsigned most_blocks = GENERATE(1u, 3u, kMostBlocks);
  CAPTURE(order, most_blocks);
  const GridRun grid(order);
  std::mt19937 random(5);
  const std::int64_t bytes = 1 << 18;
  const Bytes content = numbered(bytes, 6);
  {
    DeviceMemory device;
    Stream stream;
    PartTable table;
    SpaceBuffer memory(device, bytes), dense(device, bytes), other(device, bytes);
    write(memory.data(), content);
    device.poison(dense.data(), bytes);
    device.poison(other.data(), bytes);
    // For each width of access a box of several tiles, the last of them short, and a few small
    // ones.
    std::vector<StridedBox> boxes;
    std::int64_t at = 0, packed = 0;
    for (const std::int64_t width : {16, 8, 4, 2, 1}) {
      const std::int64_t run = 3 * width, rows = (2 * kTileBytes + 500) / run;
      boxes.push_back({memory.data() + at, run, {{rows, run + width}}});
      at += rows * (run + width);
      for (int small = 0; small < 3; ++small) {
        boxes.push_back(contiguous(memory.data() + at, width * uniform(random, 1, 9)));
        at += 10 * width;
      }
    }
    for (const StridedBox& box : boxes) packed += box.bytes();
    REQUIRE(at <= bytes);
    const auto launched = [&](auto kernel, const std::vector<StridedBox>& strided) {
      BoxParts parts;
      parts.add(strided, 0, packed, dense.data());
      REQUIRE(parts.tiles > 15);
      table.upload(parts, {}, stream.get());
      REQUIRE(kernel(table.first(), static_cast<int>(parts.parts.size()), parts.tiles, stream.get(),
                     most_blocks) == cudaSuccess);
      stream.synchronize();
    };
    launched(launch_pack, boxes);
    Bytes host = content, expected(static_cast<std::size_t>(bytes), kPoison);
    const StridedBox to = contiguous(expected.data(), packed);
    host_memory().copy(moved(boxes, memory.data(), host.data()), {&to, 1});
    REQUIRE((read(dense.data(), bytes) == expected));

    launched(launch_unpack, moved(boxes, memory.data(), other.data()));
    Bytes target(static_cast<std::size_t>(bytes), kPoison);
    host_memory().copy({&to, 1}, moved(boxes, memory.data(), target.data()));
    REQUIRE((read(other.data(), bytes) == target));
  }
  REFIT_REQUIRE_CLEAN();
}

TEST_CASE("kernels: a few blocks fill and check a shard that is larger than they are",
          REFIT_PLACE) {
  const auto order = GENERATE(from_range(GridRun::kOrders));
  const int element = GENERATE(1, 2, 4, 8);
  CAPTURE(order, element);
  const GridRun grid(order);
  // 7 of every 10 rows of [3000, 1]: 2100 elements, and 512 threads.
  std::vector<Interval> rows;
  for (std::int64_t row = 2; row < 3000; row += 10) rows.push_back({row, row + 7});
  const std::vector<IntervalSet> sides{IntervalSet::of(rows), Interval{0, 1}};
  const std::vector<std::int64_t> shape{3000, 1};
  const ShardContent content{3, 1, element, sides, shape};
  const std::int64_t elements = 2100, bytes = elements * element;
  constexpr std::int64_t kBehind = 64;  // bytes that must stay as they are
  {
    DeviceMemory device;
    Stream stream;
    SpaceBuffer shard(device, bytes + kBehind), on_host(host_memory(), bytes);
    SpaceBuffer intervals(device, 1 << 14), outcome(device, sizeof(CheckResult));
    std::vector<IntervalStart> table;
    const ShardIndex index = shard_index(content, table);
    REQUIRE(index.elements == elements);
    auto* on_device = reinterpret_cast<IntervalStart*>(intervals.data());
    REQUIRE(cudaMemcpy(on_device, table.data(), table.size() * sizeof(IntervalStart),
                       cudaMemcpyHostToDevice) == cudaSuccess);
    device.poison(shard.data(), bytes + kBehind);
    REQUIRE(launch_fill(shard.data(), index, on_device, stream.get(), 2) == cudaSuccess);
    stream.synchronize();
    host_memory().fill(on_host.data(), content);
    Bytes expected(on_host.data(), on_host.data() + bytes);
    expected.insert(expected.end(), kBehind, kPoison);
    REQUIRE((read(shard.data(), bytes + kBehind) == expected));

    // Every byte of the last 600 elements is wrong, and so is one bit of element 41: all are
    // counted, by many threads, and the lowest is named.
    for (auto i = static_cast<std::size_t>(bytes - 600 * element);
         i < static_cast<std::size_t>(bytes); ++i)
      expected[i] ^= std::byte{0xff};
    expected[static_cast<std::size_t>(41 * element)] ^= std::byte{1};
    write(shard.data(), expected);
    CheckResult result;
    auto* found = reinterpret_cast<CheckResult*>(outcome.data());
    REQUIRE(cudaMemcpy(found, &result, sizeof result, cudaMemcpyHostToDevice) == cudaSuccess);
    REQUIRE(launch_check(shard.data(), index, on_device, found, stream.get(), 2) == cudaSuccess);
    stream.synchronize();
    REQUIRE(cudaMemcpy(&result, found, sizeof result, cudaMemcpyDeviceToHost) == cudaSuccess);
    REQUIRE(result.wrong_bytes == static_cast<unsigned long long>(600 * element + 1));
    REQUIRE(result.first == 41);
  }
  REFIT_REQUIRE_CLEAN();
}

}  // namespace refit::test
