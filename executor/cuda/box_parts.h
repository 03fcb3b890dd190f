#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "executor/element_bits.h"
#include "executor/strided_box.h"

namespace refit {

// A stretch of a strided box and the dense bytes that it is packed into or unpacked from, as a
// kernel reads it: plain data of fixed size.
struct BoxPart {
  static constexpr int kMostLoops = 6;

  std::byte* base = nullptr;   // of the box
  std::byte* dense = nullptr;  // where byte `skip` of the box's stream lies
  std::int64_t skip = 0;       // bytes of the box's stream before the stretch
  std::int64_t bytes = 0;
  std::int64_t run_bytes = 0;
  std::int64_t first_tile = 0;  // tiles of the parts before this one
  std::int32_t width = 1;       // bytes per access: divides every address, run and stride
  std::int32_t loops = 0;
  std::int64_t count[kMostLoops] = {};   // outermost first
  std::int64_t stride[kMostLoops] = {};  // in bytes
};

// What one thread block copies at a time.
constexpr std::int64_t kTileBytes = 16384;

// Address of byte `at` of the box's stream.
REFIT_HOST_DEVICE inline std::byte* strided_address(const BoxPart& part, std::int64_t at) {
  if (part.loops == 0) return part.base + at;
  std::int64_t run = at / part.run_bytes;
  std::byte* address = part.base + (at - run * part.run_bytes);
  for (int k = part.loops - 1; k > 0; --k) {
    const std::int64_t outer = run / part.count[k];
    address += (run - outer * part.count[k]) * part.stride[k];
    run = outer;
  }
  return address + run * part.stride[0];
}

// A list of parts that one kernel launch copies.
struct BoxParts {
  std::vector<BoxPart> parts;
  std::int64_t tiles = 0;

  // Bytes [begin, end) of the stream that `boxes` are, densely at `dense`.
  void add(std::span<const StridedBox> boxes, std::int64_t begin, std::int64_t end,
           std::byte* dense);
};

// The boxes as one contiguous range, if they are one: it needs no packing.
std::byte* contiguous_base(std::span<const StridedBox> boxes);

}  // namespace refit
