#include "base/detail/shown.h"

#include <cstddef>

#include <fmt/format.h>

namespace refit::detail {

std::string shown(std::string_view text) {
  constexpr std::size_t kMostBytes = 60;
  std::size_t length = text.size();
  if (length > kMostBytes) {
    length = kMostBytes;
    // A UTF-8 sequence is kept or dropped whole: step back over its continuation bytes.
    while (length > 0 && (static_cast<unsigned char>(text[length]) & 0xC0U) == 0x80U) --length;
  }

  std::string line;
  for (const char c : text.substr(0, length)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      line += "\\n";
    } else if (byte < 0x20 || byte == 0x7F) {
      line += fmt::format("\\x{:02x}", byte);
    } else {
      line += c;
    }
  }
  if (length < text.size()) line += "...";
  return line;
}

}  // namespace refit::detail
