#include "base/detail/yaml_text.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include <fmt/format.h>

#include "base/detail/utf8.h"
#include "base/detail/yaml_document.h"
#include "base/error.h"

namespace refit::detail {

namespace {

constexpr std::ptrdiff_t kMostPunctuation = 1'000'000;

void check_characters(std::string_view text, const std::string& name) {
  const auto bad = first_unprintable(text);
  if (!bad) return;
  const std::string_view before = text.substr(0, *bad);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0
  throw Error(ErrorCode::bad_input,
              fmt::format("{}:{}:{}: byte 0x{:02x} is not text; save the file as UTF-8", name, line,
                          *bad - line_begin + 1, static_cast<unsigned char>(text[*bad])));
}

void check_punctuation(std::string_view text, const std::string& name) {
  constexpr std::string_view kPunctuation = ",[]{}:?&*!'\"";
  const auto count = std::count_if(text.begin(), text.end(), [&](char c) {
    return kPunctuation.find(c) != std::string_view::npos;
  });
  if (count <= kMostPunctuation) return;
  throw Error(
      ErrorCode::bad_input,
      fmt::format("{}: more than {} commas, colons, brackets and quotes; write a smaller file",
                  name, kMostPunctuation));
}

}  // namespace

std::string prepare_yaml_text(const std::string& text, const std::string& name) {
  if (text.size() > kMostYamlBytes) {
    throw Error(ErrorCode::bad_input,
                fmt::format("{}: larger than 16 MiB; give a smaller YAML file", name));
  }
  std::string_view content = text;
  if (content.starts_with("\xEF\xBB\xBF")) content.remove_prefix(3);
  check_characters(content, name);
  check_punctuation(content, name);
  return fmt::format("{}{}...\n", content, content.ends_with('\n') ? "" : "\n");
}

}  // namespace refit::detail
