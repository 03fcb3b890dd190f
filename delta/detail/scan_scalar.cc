#include "delta/detail/scan_scalar.h"

namespace refit::detail {
namespace {

template <class Element>
std::size_t scan_block(const std::byte* old_elements, const std::byte* new_elements,
                       std::size_t count, std::uint16_t* positions, Element* differences) {
  constexpr std::size_t kInWord = sizeof(std::uint64_t) / sizeof(Element);
  std::size_t found = 0, i = 0;
  for (; i + kInWord <= count; i += kInWord) {
    const auto before = load<std::uint64_t>(old_elements + i * sizeof(Element), 0);
    const auto after = load<std::uint64_t>(new_elements + i * sizeof(Element), 0);
    if (before == after) [[likely]]
      continue;
    found = scan_from<Element>(i, found, old_elements, new_elements, i + kInWord, positions,
                               differences);
  }
  return scan_from<Element>(i, found, old_elements, new_elements, count, positions, differences);
}

template <bool encoding>
TierCounts tiers(const TierBlock& block) {
  return tiers_from<encoding>(0, {}, block);
}

std::size_t take(Member* members, std::size_t count, Member limit, Member* taken) {
  return take_from(0, {}, members, count, limit, taken).taken;
}

}  // namespace

const ScanKernels& scalar_kernels() {
  static constexpr ScanKernels kernels{scan_block<std::uint8_t>,
                                       scan_block<std::uint16_t>,
                                       scan_block<std::uint32_t>,
                                       tiers<true>,
                                       tiers<false>,
                                       take};
  return kernels;
}

}  // namespace refit::detail
