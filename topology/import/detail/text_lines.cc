#include "topology/import/detail/text_lines.h"

#include <algorithm>
#include <charconv>

namespace refit::detail {

std::vector<std::string> clean_lines(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";  // as Windows' tools begin a text
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  std::vector<std::string> lines(1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') {
      lines.emplace_back();
    } else if (c == '\x1b' && i + 1 < text.size() && text[i + 1] == '[') {
      // ESC [ parameters letter
      i += 2;
      while (i < text.size() && text[i] != '\n' && !(text[i] >= '@' && text[i] <= '~')) ++i;
      if (i < text.size() && text[i] == '\n') --i;
    } else if (c == '\t') {
      lines.back() += ' ';
    } else if (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) {
      lines.back() += c;
    }
  }
  return lines;
}

std::vector<std::string_view> line_words(std::string_view line) {
  std::vector<std::string_view> words;
  for (std::size_t at = line.find_first_not_of(' '); at != std::string_view::npos;
       at = line.find_first_not_of(' ', at)) {
    const std::size_t end = std::min(line.find(' ', at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

std::optional<double> natural_number(std::string_view word) {
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size() || !(value >= 0) || value > 1e12)
    return std::nullopt;
  return value;
}

long whole_or(std::string_view word, long otherwise) {
  long value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  return error == std::errc{} && end == word.data() + word.size() ? value : otherwise;
}

}  // namespace refit::detail
