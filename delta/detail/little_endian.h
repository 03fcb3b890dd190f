#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace refit::detail {

// Numbers as files hold them: least byte first, on any machine. Compilers make one move of each.
template <typename Number>
void store_little(std::byte* to, Number number) {
  for (std::size_t i = 0; i < sizeof(Number); ++i) {
    to[i] = static_cast<std::byte>(static_cast<std::uint64_t>(number) >> (8 * i));
  }
}

template <typename Number>
Number load_little(const std::byte* from) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < sizeof(Number); ++i) {
    number |= static_cast<std::uint64_t>(from[i]) << (8 * i);
  }
  return static_cast<Number>(number);
}

}  // namespace refit::detail
