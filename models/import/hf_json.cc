#include "models/import/hf_json.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/shown.h"

namespace refit {
namespace {

using Json = nlohmann::json;

constexpr int kDeepest = 64;

std::string line_and_column(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0: the first line
  return fmt::format("{}:{}", line, before.size() - line_begin + 1);
}

[[noreturn]] void fail_at(const std::string& where, std::string_view text, std::size_t offset,
                          std::string_view message) {
  throw Error(ErrorCode::bad_input,
              fmt::format("{}:{}: {}", where, line_and_column(text, offset), message));
}

// Strict JSON, and where its offsets lie in the text it came from.
struct StrictText {
  std::string text;
  std::vector<std::size_t> quoted;  // offsets in `text` behind each word that got two quote marks

  std::size_t offset_in_original(std::size_t offset) const {
    const auto before = std::upper_bound(quoted.begin(), quoted.end(), offset) - quoted.begin();
    return offset - std::min(offset, 2 * static_cast<std::size_t>(before));
  }
};

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '+' || c == '.' ||
         c == '_';
}

std::size_t end_of_string(std::string_view text, std::size_t quote) {
  std::size_t i = quote + 1;
  while (i < text.size() && text[i] != '"') i += text[i] == '\\' ? 2 : 1;
  return std::min(i + 1, text.size());
}

StrictText make_strict(std::string_view text, const std::string& where) {
  StrictText strict;
  strict.text.reserve(text.size());
  int depth = 0;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i + 1;
    if (text[i] == '"') {
      end = end_of_string(text, i);
    } else if (is_word(text[i])) {
      while (end < text.size() && is_word(text[end])) ++end;
    } else if (text[i] == '{' || text[i] == '[') {
      if (++depth > kDeepest) {
        fail_at(where, text, i, fmt::format("nested deeper than {} levels", kDeepest));
      }
    } else if (text[i] == '}' || text[i] == ']') {
      --depth;
    }
    const std::string_view token = text.substr(i, end - i);
    if (token == "Infinity" || token == "-Infinity" || token == "NaN") {
      strict.text.append("\"").append(token).append("\"");
      strict.quoted.push_back(strict.text.size());
    } else {
      strict.text.append(token);
    }
    i = end;
  }
  return strict;
}

// The reason without the library's own prefix "[json.exception...] parse error at line 1, column 2:
// ".
std::string_view reason(std::string_view what) {
  const std::size_t column = what.find(", column ");
  const std::size_t colon = what.find(": ", column == what.npos ? 0 : column);
  return colon == what.npos ? what : what.substr(colon + 2);
}

// Refuses a key that stands twice in one object, and sees nothing else.
class RepeatedKeys : public nlohmann::json_sax<Json> {
 public:
  explicit RepeatedKeys(const std::string& where) : where_(where) {}

  bool start_object(std::size_t) override {
    open_objects_.emplace_back();
    return true;
  }
  bool end_object() override {
    open_objects_.pop_back();
    return true;
  }
  bool key(string_t& name) override {
    if (open_objects_.back().insert(name).second) return true;
    throw Error(
        ErrorCode::bad_input,
        fmt::format("{}: key '{}' stands twice in one object; keep one", where_, shown(name)));
  }

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(std::size_t, const std::string&, const Json::exception&) override {
    return false;  // whoever parses next says where and why
  }

 private:
  const std::string& where_;
  std::vector<std::set<std::string>> open_objects_;
};

}  // namespace

Json parse_hf_json(const std::string& text, const std::string& where) {
  if (text.size() > kMostConfigBytes) {
    throw Error(
        ErrorCode::bad_input,
        fmt::format("{}: more than {} bytes; a configuration is smaller", where, kMostConfigBytes));
  }
  const StrictText strict = make_strict(text, where);

  // Beforehand, since the parser's own callback walks all members of an object at the end of each.
  RepeatedKeys keys(where);
  Json::sax_parse(strict.text, &keys);
  try {
    return Json::parse(strict.text);
  } catch (const Json::parse_error& error) {
    const std::size_t last_read = error.byte > 0 ? error.byte - 1 : 0;
    fail_at(where, text, strict.offset_in_original(last_read),
            fmt::format("not JSON: {}", shown(reason(error.what()), 200)));
  } catch (const Json::exception& error) {
    throw Error(ErrorCode::bad_input,
                fmt::format("{}: not JSON: {}", where, shown(reason(error.what()), 200)));
  }
}

std::string place_of_key(std::string_view text, std::string_view path) {
  std::size_t best = std::min(text.find('{'), text.size());
  std::size_t matched = 0;                // length of the longest part of the path found so far
  std::vector<std::string_view> parents;  // the key under which each open container stands
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '{' || text[i] == '[') parents.emplace_back();
    if ((text[i] == '}' || text[i] == ']') && !parents.empty()) parents.pop_back();
    if (text[i] != '"') continue;
    const std::size_t end = end_of_string(text, i);
    const std::size_t next = text.find_first_not_of(" \t\r\n", end);
    if (next != std::string_view::npos && text[next] == ':' && !parents.empty()) {
      parents.back() = text.substr(i + 1, end - i - 2);
      const std::string here = fmt::format("{}", fmt::join(parents, "."));
      const bool on_path =
          path.starts_with(here) && (path.size() == here.size() || path[here.size()] == '.');
      if (on_path && here.size() > matched) {
        matched = here.size();
        best = i;
      }
    }
    i = end - 1;
  }
  return line_and_column(text, best);
}

}  // namespace refit
