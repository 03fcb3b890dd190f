#include "delta/scan.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

#include "base/check.h"
#include "delta/detail/kernel_choice.h"

namespace refit {
namespace {

using detail::kBlockElements;

// Changes ahead whose lines are asked for: they are some lines apart, irregularly.
constexpr std::size_t kPrefetch = 32;

template <class Element>
void scan_elements(std::span<const std::byte> old_elements, std::span<const std::byte> new_elements,
                   detail::ScanBlock<Element> scan_block, Changes& changes, const BlockSeen& seen) {
  thread_local std::array<std::uint16_t, kBlockElements + detail::kSlack> positions;
  thread_local std::array<Element, kBlockElements + detail::kSlack> differences;
  const std::size_t all = old_elements.size() / sizeof(Element);
  for (std::size_t first = 0; first < all; first += kBlockElements) {
    const std::size_t count = std::min(kBlockElements, all - first);
    const auto before = old_elements.subspan(first * sizeof(Element), count * sizeof(Element));
    const auto after = new_elements.subspan(first * sizeof(Element), count * sizeof(Element));
    const std::size_t found =
        scan_block(before.data(), after.data(), count, positions.data(), differences.data());
    detail::append_block(first, std::span(positions).first(found),
                         std::span<const Element>(differences).first(found), changes);
    if (seen) seen(before, after);
  }
}

template <class Element>
void add_elements(const Changes& changes, std::span<std::byte> elements) {
  for (std::size_t i = 0; i < changes.positions.size(); ++i) {
    if (i + kPrefetch < changes.positions.size())
      __builtin_prefetch(
          elements.data() + std::size_t{changes.positions[i + kPrefetch]} * sizeof(Element), 1);
    std::byte* at = elements.data() + std::size_t{changes.positions[i]} * sizeof(Element);
    Element element;
    std::memcpy(&element, at, sizeof element);
    element = static_cast<Element>(element + static_cast<Element>(changes.differences[i]));
    std::memcpy(at, &element, sizeof element);
  }
}

void scan_by_width(std::span<const std::byte> old_elements, std::span<const std::byte> new_elements,
                   int element_bytes, Changes& changes, ScanKernel kernel, const BlockSeen& seen) {
  REFIT_CHECK(old_elements.size() == new_elements.size());
  changes.positions.clear();
  changes.differences.clear();
  const detail::ScanKernels& kernels = detail::kernels_of(kernel);
  switch (element_bytes) {
    case 1:
      return scan_elements<std::uint8_t>(old_elements, new_elements, kernels.scan_1, changes, seen);
    case 2:
      return scan_elements<std::uint16_t>(old_elements, new_elements, kernels.scan_2, changes,
                                          seen);
    default:
      REFIT_CHECK(element_bytes == 4);
      return scan_elements<std::uint32_t>(old_elements, new_elements, kernels.scan_4, changes,
                                          seen);
  }
}

}  // namespace

std::string_view name(ScanKernel kernel) {
  constexpr std::string_view names[] = {"scalar", "avx2", "avx512"};
  return names[static_cast<std::size_t>(kernel)];
}

std::span<const ScanKernel> scan_kernels() {
  static const std::vector<ScanKernel> runnable = [] {
    std::vector<ScanKernel> found{ScanKernel::scalar};
    if (detail::avx2_kernels() != nullptr) found.push_back(ScanKernel::avx2);
    if (detail::avx512_kernels() != nullptr) found.push_back(ScanKernel::avx512);
    return found;
  }();
  return runnable;
}

ScanKernel best_scan_kernel() { return scan_kernels().back(); }

void scan(std::span<const std::byte> old_elements, std::span<const std::byte> new_elements,
          int element_bytes, Changes& changes, ScanKernel kernel) {
  scan_by_width(old_elements, new_elements, element_bytes, changes, kernel, nullptr);
}

void scan(std::span<const std::byte> old_elements, std::span<const std::byte> new_elements,
          int element_bytes, Changes& changes, const BlockSeen& seen) {
  scan_by_width(old_elements, new_elements, element_bytes, changes, best_scan_kernel(), seen);
}

void add_changes(const Changes& changes, int element_bytes, std::span<std::byte> elements) {
  switch (element_bytes) {
    case 1:
      return add_elements<std::uint8_t>(changes, elements);
    case 2:
      return add_elements<std::uint16_t>(changes, elements);
    default:
      REFIT_CHECK(element_bytes == 4);
      return add_elements<std::uint32_t>(changes, elements);
  }
}

}  // namespace refit

const refit::detail::ScanKernels& refit::detail::kernels_of(ScanKernel kernel) {
  if (kernel == ScanKernel::avx512 && avx512_kernels() != nullptr) return *avx512_kernels();
  if (kernel != ScanKernel::scalar && avx2_kernels() != nullptr) return *avx2_kernels();
  return scalar_kernels();
}
