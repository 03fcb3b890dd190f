#include "validation/detail/cell.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace refit::detail {
namespace {

constexpr const char* kBlanks = " \t\r\n";

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Removes `word` from the front, if it is there.
bool skip(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return true;
}

}  // namespace

std::string trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == text.npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1));
}

bool is_nothing(std::string_view cell) {
  const std::string text = lower(cell);
  for (const char* word :
       {"", "-", "?", "n/a", "na", "none", "unknown", "not stated", "not given"}) {
    if (text == word) return true;
  }
  return false;
}

std::optional<double> parse_number(std::string_view cell) {
  const std::string text = lower(trimmed(cell));
  std::string_view rest = text;
  for (const char* word : {"~", "about", "approx.", "ca."}) {
    if (skip(rest, word)) break;
  }
  std::string digits;
  while (!rest.empty() && (is_digit(rest.front()) || rest.front() == '.' || rest.front() == ',')) {
    // A comma groups three digits; anything else is not how a number is written.
    const bool groups = rest.size() > 3 &&
                        std::all_of(rest.begin() + 1, rest.begin() + 4, is_digit) &&
                        (rest.size() == 4 || !is_digit(rest[4]));
    if (rest.front() == ',' && (digits.empty() || !groups)) return std::nullopt;
    if (rest.front() != ',') digits += rest.front();
    rest.remove_prefix(1);
  }
  skip(rest, "+");
  rest.remove_prefix(std::min(rest.find_first_not_of(kBlanks), rest.size()));
  if (!rest.empty() && !(rest.front() == '(' && rest.back() == ')')) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const bool whole = error == std::errc{} && end == digits.data() + digits.size();
  if (!whole || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

std::string printable(std::string_view text) {
  std::string out(text.substr(0, 200));
  for (char& c : out) {
    if (c < ' ' || c > '~') c = '?';
  }
  if (text.size() > 200) out += "...";
  return out;
}

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : printable(text)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

}  // namespace refit::detail
