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

std::size_t blanks_at(std::string_view text) {
  std::size_t count = 0;
  while (count < text.size() && is_blank(text[count])) ++count;
  return count;
}

// Length of "2026-01-02T03:04:05.678Z", with a blank for the T, too; 0 if something else.
std::size_t time_at(std::string_view text) {
  constexpr std::string_view kForm = "dddd-dd-ddTdd:dd:dd";
  if (text.size() < kForm.size()) return 0;
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    const bool fits = kForm[i] == 'd'   ? is_digit(text[i])
                      : kForm[i] == 'T' ? text[i] == 'T' || text[i] == ' '
                                        : text[i] == kForm[i];
    if (!fits) return 0;
  }
  std::size_t end = kForm.size();
  while (end < text.size() && !is_blank(text[end])) ++end;
  return end;
}

// Length of a name in front of a line of nccl-tests, as in "node-a: # size" or "3: 1024 256 float".
std::size_t name_at(std::string_view text) {
  const std::size_t end = text.find(": ");
  if (end == 0 || end == std::string_view::npos || blanks_at(text) > 0) return 0;
  if (text.substr(0, end).find_first_of(" \t#") != std::string_view::npos) return 0;
  // Only of rows and comments: other lines have a name and a number, too.
  const std::vector<std::string_view> words = words_of(text.substr(end + 1));
  const auto is_whole = [&](std::size_t i) { return digits_at(words[i]) == words[i].size(); };
  const bool is_row = words.size() > 5 && is_whole(0) && is_whole(1) && !is_whole(2);
  const bool is_comment = !words.empty() && words[0].starts_with('#');
  return is_row || is_comment ? end + 1 : 0;
}

std::size_t pod_at(std::string_view text) {
  const std::size_t end = text.find("] ");
  return text.starts_with("[pod/") && end != std::string_view::npos ? end + 1 : 0;
}

}  // namespace

std::string without_tags(std::string_view line) {
  line.remove_prefix(blanks_at(line));
  const std::size_t digits = digits_at(line);
  if (digits > 0 && line.substr(digits).starts_with(": ")) line.remove_prefix(digits + 2);
  for (const auto& tag_at : {pod_at, time_at, name_at}) {
    line.remove_prefix(tag_at(line));
    line.remove_prefix(blanks_at(line));
  }
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
