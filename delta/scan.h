#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace refit {

// Which of two equally long stretches' elements differ, and by how much.
struct Changes {
  std::vector<std::uint32_t> positions;  // rising
  std::vector<std::int32_t>
      differences;  // new minus old, as a two's complement of the element's width

  std::uint32_t count() const { return static_cast<std::uint32_t>(positions.size()); }
};

// Elements are unsigned integers of `element_bytes` (1, 2 or 4), fewer than 2^32 of them. `changes`
// is overwritten, and its memory used again.
void scan(std::span<const std::byte> old_elements, std::span<const std::byte> new_elements,
          int element_bytes, Changes& changes);

// Adds the differences. Positions must be inside.
void add_changes(const Changes& changes, int element_bytes, std::span<std::byte> elements);

}  // namespace refit
