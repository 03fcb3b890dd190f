#pragma once

#include <cstdint>
#include <cstring>

#include "delta/detail/scan_kernels.h"

// The elements from `begin` on, one by one: all of a block where there is no vector unit, or the
// tail that fills no vector. Each returns how many there are now.
namespace refit::detail {

template <class Element>
Element load(const std::byte* elements, std::size_t i) {
  Element element;
  std::memcpy(&element, elements + i * sizeof(Element), sizeof element);
  return element;
}

inline constexpr std::size_t kLineBytes = 64;

// Asks for the line that is read some iterations later: with little to do per line, processors do
// not see far enough ahead in two streams by themselves. It may lie behind the end.
inline void ask_ahead(const std::byte* elements) {
  constexpr std::uintptr_t kAheadBytes = 2048;
  __builtin_prefetch(
      reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(elements) + kAheadBytes));
}

template <class Element>
std::size_t scan_from(std::size_t begin, std::size_t found, const std::byte* old_elements,
                      const std::byte* new_elements, std::size_t count, std::uint16_t* positions,
                      Element* differences) {
  for (std::size_t i = begin; i < count; ++i) {
    const auto before = load<Element>(old_elements, i), after = load<Element>(new_elements, i);
    positions[found] = static_cast<std::uint16_t>(i);
    differences[found] = static_cast<Element>(after - before);
    found += before != after ? 1 : 0;
  }
  return found;
}

constexpr Member member(std::uint16_t old_element, std::uint32_t carried) {
  return (static_cast<Member>(old_element & 0x7f80u) << (kMemberExponentShift - 7)) | carried;
}

template <bool encoding>
TierCounts tiers_from(std::size_t begin, TierCounts found, const TierBlock& block) {
  for (std::size_t i = begin; i < block.count; ++i) {
    const auto before = load<std::uint16_t>(block.old_elements, i);
    const bool small = (before & 0x7fffu) < block.limit;
    if constexpr (encoding) {
      const auto after = load<std::uint16_t>(block.new_elements, i);
      const auto difference = static_cast<std::uint16_t>(after - before);
      block.members[found.members] = member(before, difference);
      block.positions[found.changes] = static_cast<std::uint16_t>(i);
      block.differences[found.changes] = difference;
      found.changes += difference != 0 && !small ? 1 : 0;
    } else {
      block.members[found.members] = member(before, block.first + static_cast<Member>(i));
    }
    found.members += small ? 1 : 0;
  }
  return found;
}

struct Taken {
  std::size_t taken = 0, left = 0;
};
inline Taken take_from(std::size_t begin, Taken found, Member* members, std::size_t count,
                       Member limit, Member* taken) {
  for (std::size_t i = begin; i < count; ++i) {
    const Member member = members[i];
    taken[found.taken] = member;
    found.taken += member >= limit ? 1 : 0;
    members[found.left] = member;
    found.left += member < limit ? 1 : 0;
  }
  return found;
}

}  // namespace refit::detail
