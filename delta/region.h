#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace refit {

// A box of a tensor of up to four dims; `shape` is the whole tensor's. Its elements are counted row
// by row, the last dim fastest. A tensor of more dims, taken whole, is a box of one dim.
//
//   shape {8, 6}, offset {2, 3}, extent {4, 3}: rows 2 to 5, columns 3 to 5, 12 elements
struct DeltaBox {
  int dims = 1;
  std::array<std::uint64_t, 4> shape{};  // dims beyond `dims` are 0, here and below
  std::array<std::uint64_t, 4> offset{};
  std::array<std::uint64_t, 4> extent{};

  static DeltaBox whole(std::uint64_t elements) { return {1, {elements}, {0}, {elements}}; }

  std::uint64_t elements() const {
    std::uint64_t count = 1;
    for (int d = 0; d < dims; ++d) count *= extent[static_cast<std::size_t>(d)];
    return count;
  }

  friend bool operator==(const DeltaBox&, const DeltaBox&) = default;
};

// A stretch of a box that is also one in the tensor: `elements` from `box_index` in the box and
// from `tensor_index` in the tensor. Calls visit(box_index, tensor_index, elements) for all of
// [first, first + count) of the box, in order.
template <typename Visit>
void for_each_run(const DeltaBox& box, std::uint64_t first, std::uint64_t count,
                  const Visit& visit) {
  // Trailing dims that the box has whole belong to one run with the dim before them.
  int inner = box.dims - 1;
  std::uint64_t run = box.extent[static_cast<std::size_t>(inner)];
  while (inner > 0 && box.extent[static_cast<std::size_t>(inner)] ==
                          box.shape[static_cast<std::size_t>(inner)]) {
    --inner;
    run *= box.extent[static_cast<std::size_t>(inner)];
  }
  for (std::uint64_t i = first; i < first + count;) {
    std::uint64_t rest = i;
    std::uint64_t pitch = 1;
    std::uint64_t tensor_index = 0;
    for (int d = box.dims - 1; d >= 0; --d) {
      const auto dim = static_cast<std::size_t>(d);
      tensor_index += (box.offset[dim] + rest % box.extent[dim]) * pitch;
      rest /= box.extent[dim];
      pitch *= box.shape[dim];
    }
    const std::uint64_t in_run = run - i % run;
    const std::uint64_t length = in_run < first + count - i ? in_run : first + count - i;
    visit(i, tensor_index, length);
    i += length;
  }
}

}  // namespace refit
