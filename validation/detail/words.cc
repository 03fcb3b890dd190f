#include "validation/detail/words.h"

#include <algorithm>
#include <charconv>

#include "validation/detail/cell.h"

namespace refit::detail {
namespace {

bool is_letter(char c) { return c >= 'a' && c <= 'z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '_'; }

}  // namespace

std::vector<Word> split_words(std::string_view text) {
  constexpr std::string_view kTimes = "\xC3\x97";  // the multiplication sign in UTF-8
  const std::string line = lower(text);
  std::vector<Word> words;
  bool adjacent = false;
  for (std::size_t i = 0; i < line.size();) {
    if (is_blank(line[i])) {
      adjacent = false;
      ++i;
      continue;
    }
    Word word{.text = {}, .number = {}, .adjacent = adjacent};
    std::size_t end = i + 1;
    if (line.compare(i, kTimes.size(), kTimes) == 0) {
      word.text = "x";
      end = i + kTimes.size();
    } else if (is_digit(line[i])) {
      while (end < line.size() && is_digit(line[end])) ++end;
      int value = 0;
      const auto [last, error] = std::from_chars(line.data() + i, line.data() + end, value);
      word.number = error == std::errc{} ? value : 0;
    } else if (line[i] == 'x' && !words.empty() && words.back().number && adjacent) {
      word.text = "x";  // 8xTP2
    } else if (is_letter(line[i])) {
      while (end < line.size() && is_letter(line[end])) ++end;
      word.text = line.substr(i, end - i);
    } else {
      word.text = line.substr(i, 1);
    }
    words.push_back(std::move(word));
    adjacent = true;
    i = end;
  }
  return words;
}

std::vector<std::string> split_names(std::string_view text) {
  const std::string line = lower(text);
  std::vector<std::string> names;
  bool inside = false;
  for (const char c : line) {
    const bool part = is_letter(c) || is_digit(c) || c == '.';
    if (part && !inside) names.emplace_back();
    if (part) names.back() += c;
    inside = part;
  }
  return names;
}

bool has_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return text.find(word) != text.npos; });
}

}  // namespace refit::detail
