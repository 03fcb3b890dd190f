#pragma once

#include <cstddef>
#include <cstdint>

#include "base/host_device.h"

namespace refit {

// What a GPU computes per element. Nothing in it needs a GPU, so that it is tested without one.

// Elements of a width that all threads share, so that the switches never part a warp; one selection
// for all widths compiles in a third of the time.
struct Elements {
  const std::byte* bytes = nullptr;
  int width = 0;

  REFIT_HOST_DEVICE std::uint32_t operator[](std::uint32_t i) const {
    switch (width) {
      case 1:
        return reinterpret_cast<const std::uint8_t*>(bytes)[i];
      case 2:
        return reinterpret_cast<const std::uint16_t*>(bytes)[i];
      default:
        return reinterpret_cast<const std::uint32_t*>(bytes)[i];
    }
  }
};

struct IsChanged {
  Elements before, after;
  REFIT_HOST_DEVICE bool operator()(std::uint32_t i) const { return before[i] != after[i]; }
};

// New minus old, a two's complement of the elements' width.
REFIT_HOST_DEVICE inline std::int32_t difference(const Elements& before, const Elements& after,
                                                 std::uint32_t i) {
  const int unused = 32 - 8 * before.width;  // sign extension from the element's width
  return static_cast<std::int32_t>((after[i] - before[i]) << unused) >> unused;
}

}  // namespace refit
