#include "validation/detail/log_lines.h"

#include <charconv>
#include <cmath>

namespace refit::detail {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

std::size_t digits_at(std::string_view text) {
  std::size_t count = 0;
  while (count < text.size() && is_digit(text[count])) ++count;
  return count;
}

// Length of "[0]", "[1,0]" or either with "<stdout>:" behind it; 0 if something else stands here.
// A bus number such as [0x31] is something else.
std::size_t bracket_tag_at(std::string_view text) {
  if (!text.starts_with('[')) return 0;
  std::size_t end = 1 + digits_at(text.substr(1));
  if (end == 1 || end == text.size()) return 0;
  if (text[end] == ',') {
    const std::size_t digits = digits_at(text.substr(end + 1));
    if (digits == 0) return 0;
    end += 1 + digits;
  }
  if (end == text.size() || text[end] != ']') return 0;
  ++end;
  for (const std::string_view stream : {"<stdout>:", "<stderr>:", "<stdout>", "<stderr>"})
    if (text.substr(end).starts_with(stream)) return end + stream.size();
  return end;
}

}  // namespace

std::string without_tags(std::string_view line) {
  while (!line.empty() && is_blank(line.front())) line.remove_prefix(1);
  const std::size_t digits = digits_at(line);
  if (digits > 0 && line.substr(digits).starts_with(": ")) line.remove_prefix(digits + 2);
  std::string text;
  while (!line.empty()) {
    const std::size_t tag = bracket_tag_at(line);
    text += tag > 0 ? ' ' : line.front();
    line.remove_prefix(tag > 0 ? tag : 1);
  }
  return text;
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    std::size_t size = 0;
    while (size < line.size() && !is_blank(line[size])) ++size;
    if (size > 0) words.push_back(line.substr(0, size));
    line.remove_prefix(size < line.size() ? size + 1 : size);
  }
  return words;
}

bool LineReader::next(std::string_view& line) {
  if (rest_.empty()) return false;
  const std::size_t end = rest_.find('\n');
  line = rest_.substr(0, end);
  rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
  ++number_;
  return true;
}

std::optional<double> number_in(std::string_view word) {
  double number = 0;
  const auto [rest, fault] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (fault != std::errc() || rest != word.data() + word.size() || !std::isfinite(number))
    return std::nullopt;
  return number;
}

}  // namespace refit::detail
