#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace refit::detail {

// Where `text` first stops being printable UTF-8 (tab and line ends count as printable), or
// nothing. Checked once at the door: yaml-cpp ends a document silently at byte 0x04, and JSON can't
// hold broken UTF-8.
std::optional<std::size_t> first_unprintable(std::string_view text);

}  // namespace refit::detail
