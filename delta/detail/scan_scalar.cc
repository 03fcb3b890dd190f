#include "delta/detail/scan_scalar.h"

namespace refit::detail {
namespace {

template <class Element>
std::size_t scan_block(const std::byte* old_elements, const std::byte* new_elements,
                       std::size_t count, std::uint16_t* positions, Element* differences) {
  return scan_from<Element>(0, 0, old_elements, new_elements, count, positions, differences);
}

TierCounts tiers(const TierBlock& block) { return tiers_from(0, {}, block); }

std::size_t take(Member* members, std::size_t count, Member limit, Member* taken) {
  return take_from(0, {}, members, count, limit, taken).taken;
}

}  // namespace

const ScanKernels& scalar_kernels() {
  static constexpr ScanKernels kernels{scan_block<std::uint8_t>, scan_block<std::uint16_t>,
                                       scan_block<std::uint32_t>, tiers, take};
  return kernels;
}

}  // namespace refit::detail
