#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/check.h"
#include "delta/region.h"

namespace refit {

// Where the elements of a region lie: all of some memory, or a box of the rows and columns there.
//
//   shard rows 4..7 of a tensor {8, 6}, region rows 4..5, columns 3..5: in the shard's memory that
//   is the box shape {4, 6}, offset {0, 3}, extent {2, 3}
template <typename Byte>
class BasicRegionMemory {
 public:
  // `memory` holds the elements of the box's shape, row by row.
  BasicRegionMemory(std::span<Byte> memory, const DeltaBox& box, int element_bytes)
      : memory_(memory), box_(box), element_bytes_(static_cast<std::uint64_t>(element_bytes)) {
    std::uint64_t elements = 1;
    for (int d = 0; d < box.dims; ++d) elements *= box.shape[static_cast<std::size_t>(d)];
    REFIT_CHECK(memory.size() == elements * element_bytes_);
  }
  // The region alone.
  BasicRegionMemory(std::span<Byte> memory, int element_bytes)
      : BasicRegionMemory(
            memory, DeltaBox::whole(memory.size() / static_cast<std::uint64_t>(element_bytes)),
            element_bytes) {}

  // Elements [first, first + count) of the region: in place where they lie together, else gathered
  // into `scratch`.
  std::span<const std::byte> read(std::uint64_t first, std::uint64_t count,
                                  std::vector<std::byte>& scratch) const {
    std::span<const std::byte> together;
    for_each_run(box_, first, count, [&](std::uint64_t in_box, std::uint64_t at, std::uint64_t n) {
      const auto run = memory_.subspan(at * element_bytes_, n * element_bytes_);
      if (n == count) {
        together = run;
        return;
      }
      scratch.resize(count * element_bytes_);
      std::memcpy(scratch.data() + (in_box - first) * element_bytes_, run.data(), run.size());
    });
    return together.empty() ? std::span<const std::byte>(scratch) : together;
  }

  void write(std::uint64_t first, std::span<const std::byte> elements) const
      requires(!std::is_const_v<Byte>) {
    for_each_run(box_, first, elements.size() / element_bytes_,
                 [&](std::uint64_t in_box, std::uint64_t at, std::uint64_t n) {
                   std::memcpy(memory_.data() + at * element_bytes_,
                               elements.data() + (in_box - first) * element_bytes_,
                               n * element_bytes_);
                 });
  }

 private:
  std::span<Byte> memory_;
  DeltaBox box_;
  std::uint64_t element_bytes_;
};

using RegionMemory = BasicRegionMemory<std::byte>;
using RegionView = BasicRegionMemory<const std::byte>;

}  // namespace refit
