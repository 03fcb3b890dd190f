#include "delta/scan.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

#include "base/check.h"

namespace refit {
namespace {

constexpr std::size_t kBlockElements = 1 << 16;  // a position inside has 16 bits

template <class Element>
std::size_t scan_block(const std::byte* old_elements, const std::byte* new_elements,
                       std::size_t count, std::uint16_t* positions, Element* differences) {
  std::size_t found = 0;
  for (std::size_t i = 0; i < count; ++i) {
    Element before, after;
    std::memcpy(&before, old_elements + i * sizeof(Element), sizeof(Element));
    std::memcpy(&after, new_elements + i * sizeof(Element), sizeof(Element));
    positions[found] = static_cast<std::uint16_t>(i);
    differences[found] = static_cast<Element>(after - before);
    found += before != after ? 1 : 0;
  }
  return found;
}

template <class Element>
void scan_elements(std::span<const std::byte> old_elements, std::span<const std::byte> new_elements,
                   Changes& changes) {
  thread_local std::array<std::uint16_t, kBlockElements + 1> positions;
  thread_local std::array<Element, kBlockElements + 1> differences;
  const std::size_t all = old_elements.size() / sizeof(Element);
  for (std::size_t first = 0; first < all; first += kBlockElements) {
    const std::size_t found =
        scan_block(old_elements.data() + first * sizeof(Element),
                   new_elements.data() + first * sizeof(Element),
                   std::min(kBlockElements, all - first), positions.data(), differences.data());
    const std::size_t before = changes.positions.size();
    changes.positions.resize(before + found);
    changes.differences.resize(before + found);
    for (std::size_t i = 0; i < found; ++i) {
      changes.positions[before + i] = static_cast<std::uint32_t>(first) + positions[i];
      changes.differences[before + i] = static_cast<std::make_signed_t<Element>>(differences[i]);
    }
  }
}

template <class Element>
void add_elements(const Changes& changes, std::span<std::byte> elements) {
  for (std::size_t i = 0; i < changes.positions.size(); ++i) {
    std::byte* at = elements.data() + std::size_t{changes.positions[i]} * sizeof(Element);
    Element element;
    std::memcpy(&element, at, sizeof element);
    element = static_cast<Element>(element + static_cast<Element>(changes.differences[i]));
    std::memcpy(at, &element, sizeof element);
  }
}

}  // namespace

void scan(std::span<const std::byte> old_elements, std::span<const std::byte> new_elements,
          int element_bytes, Changes& changes) {
  REFIT_CHECK(old_elements.size() == new_elements.size());
  changes.positions.clear();
  changes.differences.clear();
  switch (element_bytes) {
    case 1:
      return scan_elements<std::uint8_t>(old_elements, new_elements, changes);
    case 2:
      return scan_elements<std::uint16_t>(old_elements, new_elements, changes);
    default:
      REFIT_CHECK(element_bytes == 4);
      return scan_elements<std::uint32_t>(old_elements, new_elements, changes);
  }
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
