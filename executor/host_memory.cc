#include <algorithm>
#include <cstring>
#include <type_traits>

#include "base/check.h"
#include "executor/element_bits.h"
#include "executor/memory_space.h"

namespace refit {
namespace {

// Calls visit(global element index of the first element of a run, local element index, run length).
template <class Visit>
void for_each_run(const std::vector<IntervalSet>& sides, const std::vector<std::int64_t>& shape,
                  const Visit& visit) {
  const std::size_t dims = shape.size();
  std::vector<std::vector<std::int64_t>> rows(dims - 1);  // outer dims, written out
  for (std::size_t d = 0; d + 1 < dims; ++d) {
    for (const Interval& interval : sides[d].intervals()) {
      for (std::int64_t r = interval.begin; r < interval.end; ++r) rows[d].push_back(r);
    }
    if (rows[d].empty()) return;
  }
  std::vector<std::size_t> at(dims - 1, 0);
  std::int64_t local = 0;
  while (true) {
    std::int64_t global = 0;
    for (std::size_t d = 0; d + 1 < dims; ++d) global = (global + rows[d][at[d]]) * shape[d + 1];
    for (const Interval& interval : sides[dims - 1].intervals()) {
      visit(global + interval.begin, local, interval.size());
      local += interval.size();
    }
    std::size_t d = dims - 1;
    while (d > 0 && ++at[d - 1] == rows[d - 1].size()) at[--d] = 0;
    if (d == 0) return;
  }
}

// Calls work(an integral constant of the element's size), so that copies of an element are moves
// and not calls.
template <class Work>
void with_size_of(const ShardContent& content, const Work& work) {
  switch (content.element_bytes) {
    case 1:
      return work(std::integral_constant<std::size_t, 1>());
    case 2:
      return work(std::integral_constant<std::size_t, 2>());
    case 4:
      return work(std::integral_constant<std::size_t, 4>());
    case 8:
      return work(std::integral_constant<std::size_t, 8>());
    default:
      REFIT_CHECK(false && "an element of 1, 2, 4 or 8 bytes");
  }
}

class HostMemory : public MemorySpace {
 public:
  std::byte* take(std::int64_t bytes) override {
    return new std::byte[static_cast<std::size_t>(bytes)]();
  }

  void give_back(std::byte* at, std::int64_t) noexcept override { delete[] at; }

  void poison(std::byte* at, std::int64_t bytes) override { std::fill_n(at, bytes, kPoison); }

  void fill(std::byte* shard, const ShardContent& content) override {
    with_size_of(content, [&](auto size) {
      for_each_run(content.sides, content.shape,
                   [&](std::int64_t global, std::int64_t local, std::int64_t n) {
                     std::byte* out = shard + static_cast<std::size_t>(local) * size;
                     for (std::int64_t i = 0; i < n; ++i, out += size) {
                       const std::uint64_t bits =
                           element_bits(content.seed, content.tensor_class, global + i);
                       std::memcpy(out, &bits, size);
                     }
                   });
    });
  }

  WrongBytes check(const std::byte* shard, const ShardContent& content) override {
    WrongBytes wrong;
    with_size_of(content, [&](auto size) {
      for_each_run(content.sides, content.shape,
                   [&](std::int64_t global, std::int64_t local, std::int64_t n) {
                     const std::byte* in = shard + static_cast<std::size_t>(local) * size;
                     for (std::int64_t i = 0; i < n; ++i, in += size) {
                       const std::uint64_t bits =
                           element_bits(content.seed, content.tensor_class, global + i);
                       if (std::memcmp(in, &bits, size) != 0)
                         note(in, bits, size, global + i, wrong);
                     }
                   });
    });
    return wrong;
  }

  void copy(std::span<const StridedBox> from, std::span<const StridedBox> to) override {
    std::int64_t bytes = 0;
    for (const StridedBox& box : to) bytes += box.bytes();
    BoxCursor reader(from), writer(to);
    refit::copy(reader, writer, bytes);
  }

 private:
  static void note(const std::byte* found, std::uint64_t bits, std::size_t size,
                   std::int64_t element, WrongBytes& wrong) {
    std::byte expected[sizeof bits];
    std::memcpy(expected, &bits, sizeof bits);
    for (std::size_t b = 0; b < size; ++b) wrong.count += found[b] != expected[b] ? 1 : 0;
    if (wrong.first.size() < kMostExamples) wrong.first.push_back(element);
  }
};

}  // namespace

MemorySpace& host_memory() {
  static HostMemory memory;  // has no state
  return memory;
}

}  // namespace refit
