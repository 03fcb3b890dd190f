#include "base/shown.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/detail/utf8.h"

namespace refit {
namespace {

// Of a line of a message. Our longest ones list all that is known, in some hundred words.
constexpr std::size_t kMostBegin = 3000, kMostEnd = 1000;

bool is_inside_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

// Control characters beyond ASCII: U+0080 to U+009F, some of which terminals obey.
bool is_late_control(std::string_view text, std::size_t i) {
  return text[i] == '\xC2' && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0;
}

// The text with everything but printable UTF-8 and the characters of `kept` written out.
std::string printable(std::string_view text, std::string_view kept) {
  std::string result;
  std::size_t good = detail::first_unprintable(text).value_or(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool is_plain = i < good && byte >= 0x20 && byte != 0x7F && !is_late_control(text, i);
    if (is_plain || kept.find(text[i]) != std::string_view::npos) {
      result += text[i];
    } else if (text[i] == '\n') {
      result += "\\n";
    } else {
      result += fmt::format("\\x{:02x}", byte);
      if (i < good && is_late_control(text, i))
        result += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[++i]));
    }
    if (i == good) good += 1 + detail::first_unprintable(text.substr(i + 1)).value_or(text.size());
  }
  return result;
}

// Before the character at `end`, or before the one that `end` is inside of.
std::string_view beginning(std::string_view text, std::size_t end) {
  if (end >= text.size()) return text;
  while (end > 0 && is_inside_character(text[end])) --end;
  return text.substr(0, end);
}

}  // namespace

std::string shown(std::string_view text, std::size_t most_bytes) {
  const std::string_view part = beginning(text, most_bytes);
  return printable(part, "") + (part.size() < text.size() ? "..." : "");
}

std::string shown_message(std::string_view message) {
  std::string result;
  for (std::size_t at = 0; at <= message.size();) {
    const std::size_t end = std::min(message.find('\n', at), message.size());
    const std::string_view line = message.substr(at, end - at);
    if (at > 0) result += '\n';
    if (line.size() <= kMostBegin + kMostEnd) {
      result += printable(line, "\t");
    } else {
      result += printable(beginning(line, kMostBegin), "\t") + " ... " +
                printable(line.substr(beginning(line, line.size() - kMostEnd).size()), "\t");
    }
    at = end + 1;
  }
  return result;
}

}  // namespace refit
