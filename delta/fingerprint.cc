#include "delta/fingerprint.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/check.h"
#include "delta/detail/little_endian.h"

namespace refit {
namespace {

// key = block key (even) + lane key (odd, 32 bits): one 64-bit mix serves 32 elements, and the rest
// are products of 32-bit numbers, which every vector unit has.
constexpr std::uint64_t kBlock = 32;

// The finalizer of splitmix64.
constexpr std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

constexpr std::array<std::uint32_t, kBlock> lane_keys() {
  std::array<std::uint32_t, kBlock> keys{};
  for (std::uint64_t lane = 0; lane < kBlock; ++lane) {
    keys[lane] = static_cast<std::uint32_t>(mix(lane + 1)) | 1u;
  }
  return keys;
}
constexpr std::array<std::uint32_t, kBlock> kLaneKeys = lane_keys();

std::uint64_t block_key(std::uint64_t tensor_key, std::uint64_t block) {
  return mix(tensor_key + block * 0x9e3779b97f4a7c15u) << 1;
}

std::uint64_t tensor_key(std::uint32_t tensor) { return mix(std::uint64_t{tensor} + 1); }

// `count` elements of one block, from its lane `lane` on.
template <typename Element>
std::uint64_t block_sum(std::uint64_t key, std::uint64_t lane, const std::byte* from,
                        std::uint64_t count) {
  std::uint64_t plain = 0;
  std::uint64_t weighted = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t bits =
        std::uint64_t{detail::load_little<Element>(from + i * sizeof(Element))} + 1;
    plain += bits;
    weighted += bits * kLaneKeys[lane + i];
  }
  return key * plain + weighted;
}

template <typename Element>
std::uint64_t run_sum(std::uint64_t key, std::uint64_t index, const std::byte* from,
                      std::uint64_t count) {
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < count;) {
    const std::uint64_t lane = (index + i) % kBlock;
    const std::uint64_t here = std::min(kBlock - lane, count - i);
    const std::uint64_t block = block_key(key, (index + i) / kBlock);
    const std::byte* at = from + i * sizeof(Element);
    // The usual case with a count the compiler knows.
    sum += here == kBlock ? block_sum<Element>(block, 0, at, kBlock)
                          : block_sum<Element>(block, lane, at, here);
    i += here;
  }
  return sum;
}

template <typename Of>
auto by_width(int element_bytes, const Of& of) {
  REFIT_CHECK(element_bytes == 1 || element_bytes == 2 || element_bytes == 4);
  if (element_bytes == 1) return of(std::uint8_t{});
  if (element_bytes == 2) return of(std::uint16_t{});
  return of(std::uint32_t{});
}

}  // namespace

std::uint64_t fingerprint(std::uint32_t tensor, const DeltaBox& box, std::uint64_t first,
                          std::span<const std::byte> elements, int element_bytes) {
  return by_width(element_bytes, [&](auto element) {
    using Element = decltype(element);
    std::uint64_t sum = 0;
    for_each_run(box, first, elements.size() / sizeof(Element),
                 [&](std::uint64_t in_box, std::uint64_t in_tensor, std::uint64_t count) {
                   sum += run_sum<Element>(tensor_key(tensor), in_tensor,
                                           elements.data() + (in_box - first) * sizeof(Element),
                                           count);
                 });
    return sum;
  });
}

std::uint64_t fingerprint_change(std::uint32_t tensor, const DeltaBox& box, std::uint64_t first,
                                 std::span<const std::byte> old_elements, const Changes& changes,
                                 int element_bytes) {
  return by_width(element_bytes, [&](auto element) {
    using Element = decltype(element);
    const std::uint64_t of_tensor = tensor_key(tensor);
    std::uint64_t sum = 0;
    std::size_t c = 0;
    const auto add_run = [&](std::uint64_t in_box, std::uint64_t in_tensor, std::uint64_t count) {
      const std::uint64_t begin = in_box - first;
      std::uint64_t block = ~std::uint64_t{0}, key = 0;
      for (; c < changes.positions.size() && changes.positions[c] < begin + count; ++c) {
        const std::uint64_t position = changes.positions[c];
        const std::uint64_t index = in_tensor + (position - begin);
        // Where much has changed, many are of one block.
        if (index / kBlock != block) {
          block = index / kBlock;
          key = block_key(of_tensor, block);
        }
        const auto before =
            detail::load_little<Element>(old_elements.data() + position * sizeof(Element));
        const auto after =
            static_cast<Element>(before + static_cast<Element>(changes.differences[c]));
        sum += (key + kLaneKeys[index % kBlock]) * (std::uint64_t{after} - std::uint64_t{before});
      }
    };
    for_each_run(box, first, old_elements.size() / sizeof(Element), add_run);
    return sum;
  });
}

}  // namespace refit
