#pragma once

#include <cstdint>
#include <vector>

#include "executor/element_bits.h"
#include "executor/memory_space.h"

namespace refit {

// Which global element each element of a shard is, as a kernel reads it: per dim, the intervals'
// first rows in the shard and in the tensor, in one table of all dims.
struct ShardIndex {
  static constexpr int kMostDims = 8;

  std::uint64_t seed = 0;
  std::int64_t tensor_class = 0;
  std::int64_t elements = 0;
  std::int32_t element_bytes = 1;
  std::int32_t dims = 0;
  std::int64_t length[kMostDims] = {};  // of the shard
  std::int64_t shape[kMostDims] = {};   // of the tensor
  std::int32_t first[kMostDims + 1] =
      {};  // intervals of dim d: table entries [first[d], first[d + 1])
};

struct IntervalStart {
  std::int64_t local = 0;
  std::int64_t global = 0;
};

REFIT_HOST_DEVICE inline std::int64_t global_element(const ShardIndex& index,
                                                     const IntervalStart* table,
                                                     std::int64_t local) {
  std::int64_t global = 0;
  std::int64_t step = 1;  // of one row of dim d
  for (int d = index.dims - 1; d >= 0; --d) {
    const std::int64_t outer = local / index.length[d];
    const std::int64_t row = local - outer * index.length[d];
    local = outer;
    // The last interval that starts at or before the row.
    std::int32_t low = index.first[d], high = index.first[d + 1];
    while (high - low > 1) {
      const std::int32_t middle = low + (high - low) / 2;
      if (table[middle].local <= row) {
        low = middle;
      } else {
        high = middle;
      }
    }
    global += (table[low].global + row - table[low].local) * step;
    step *= index.shape[d];
  }
  return global;
}

// Byte b of what element `element` should hold.
REFIT_HOST_DEVICE inline std::uint8_t byte_of(std::uint64_t bits, int b) {
  return static_cast<std::uint8_t>(bits >> (8 * b));
}

// The index and its table; Error(bad_input) if the shard has more dims than a kernel takes.
ShardIndex shard_index(const ShardContent& content, std::vector<IntervalStart>& table);

}  // namespace refit
