#pragma once

#include <cstdint>

#include "base/host_device.h"

namespace refit {

// The content of every element: a function of the run's seed, the tensor class and the element's
// global index, so that any rank can make and check it without a reference copy. An element of n
// bytes holds the n low bytes, lowest first.
REFIT_HOST_DEVICE inline std::uint64_t element_bits(std::uint64_t seed, std::int64_t tensor_class,
                                                    std::int64_t element) {
  // The finaliser of splitmix64 over a counter: cheap, and every bit depends on every input bit.
  std::uint64_t x = seed * 0x9e3779b97f4a7c15u +
                    static_cast<std::uint64_t>(tensor_class) * 0xd1b54a32d192ed03u +
                    static_cast<std::uint64_t>(element);
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

}  // namespace refit
