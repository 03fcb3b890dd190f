#include "models/import/hf_keys.h"

#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/shown.h"

namespace refit {
namespace {

using Json = nlohmann::json;

// Enough of a value to recognise it in a message.
std::string shown(const Json& value) {
  constexpr std::size_t kLongest = 40;
  if (value.is_array()) return fmt::format("a list of {}", value.size());
  if (value.is_object()) return "an object";
  std::string text = value.dump(-1, ' ', true);  // ASCII, so that it can be cut anywhere
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
  return text;
}

}  // namespace

HfKeyError::HfKeyError(const std::string& where, std::string path, std::string complaint)
    : Error(ErrorCode::bad_input, fmt::format("{}: {}", where, complaint)),
      path_(std::move(path)),
      complaint_(std::move(complaint)) {}

HfKeys::HfKeys(const Json& object, std::string where, std::string path)
    : object_(&object), where_(std::move(where)), path_(std::move(path)) {
  if (!object.is_object()) {
    throw Error(ErrorCode::bad_input,
                fmt::format("{}:1:1: expected a JSON object, got {}", where_, shown(object)));
  }
}

const Json* HfKeys::find(std::string_view key) const {
  const auto at = object_->find(key);
  return at == object_->end() || at->is_null() ? nullptr : &*at;
}

bool HfKeys::has(std::string_view key) const { return find(key) != nullptr; }

HfKeys HfKeys::object(std::string_view key) const {
  const Json* value = find(key);
  if (!value) fail_missing({key});
  if (!value->is_object()) fail_type(key, "an object", *value);
  return HfKeys(*value, where_, fmt::format("{}{}.", path_, key));
}

std::int64_t HfKeys::integer(Spellings spellings, std::int64_t least, std::int64_t most) const {
  const std::optional<std::int64_t> value = find_integer(spellings, least, most);
  if (!value) fail_missing(spellings);
  return *value;
}

std::optional<std::int64_t> HfKeys::find_integer(Spellings spellings, std::int64_t least,
                                                 std::int64_t most) const {
  std::optional<std::int64_t> found;
  std::string_view found_key;
  for (std::string_view key : spellings) {
    const Json* value = find(key);
    if (!value) continue;
    const std::int64_t number = checked(key, *value, least, most);
    if (found && *found != number) {
      fail(key,
           fmt::format("{} disagrees with '{}', which is {}; keep one", number, found_key, *found));
    }
    found = number;
    found_key = key;
  }
  return found;
}

std::int64_t HfKeys::size(std::string_view key) const { return integer({key}, 1, kMostSize); }

std::optional<std::int64_t> HfKeys::integer_or_null(std::string_view key, std::int64_t least,
                                                    std::int64_t most) const {
  if (object_->find(key) == object_->end()) fail_missing({key});
  return find_integer({key}, least, most);
}

bool HfKeys::flag(std::string_view key, bool fallback) const {
  const Json* value = find(key);
  if (!value) return fallback;
  if (!value->is_boolean()) fail_type(key, "true or false", *value);
  return value->get<bool>();
}

std::string HfKeys::text(std::string_view key) const {
  const Json* value = find(key);
  if (!value) fail_missing({key});
  if (!value->is_string()) fail_type(key, "a text", *value);
  return value->get<std::string>();
}

std::vector<std::string> HfKeys::words(std::string_view key) const {
  const Json* value = find(key);
  if (!value) fail_missing({key});
  if (!value->is_array()) fail_type(key, "a list of words", *value);
  std::vector<std::string> words;
  for (const Json& word : *value) {
    if (!word.is_string()) fail_type(key, "a list of words", word);
    words.push_back(word.get<std::string>());
  }
  return words;
}

std::vector<std::int64_t> HfKeys::integers(std::string_view key, std::int64_t least,
                                           std::int64_t most) const {
  const Json* value = find(key);
  if (!value) fail_missing({key});
  if (!value->is_array()) fail_type(key, "a list of integers", *value);
  std::vector<std::int64_t> numbers;
  for (const Json& number : *value) numbers.push_back(checked(key, number, least, most));
  return numbers;
}

std::vector<std::string> HfKeys::keys() const {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object_->items()) {
    if (!value.is_null()) keys.push_back(key);
  }
  return keys;
}

void HfKeys::expect_flag(std::string_view key, bool expected) const {
  if (flag(key, expected) != expected) {
    fail(key,
         fmt::format("{} is not known for this architecture; only {} is", !expected, expected));
  }
}

void HfKeys::fail(std::string_view key, std::string_view message) const {
  throw HfKeyError(
      where_, fmt::format("{}{}", path_, key),
      fmt::format("key '{}': {}", shown(fmt::format("{}{}", path_, key), 120), message));
}

void HfKeys::fail_missing(Spellings spellings) const {
  std::string others;
  for (auto key = spellings.begin() + 1; key < spellings.end(); ++key) {
    others += fmt::format("{}'{}'", others.empty() ? " (also spelled " : ", ", *key);
  }
  throw HfKeyError(where_, fmt::format("{}{}", path_, *spellings.begin()),
                   fmt::format("missing key '{}{}'{}", path_, *spellings.begin(),
                               others.empty() ? "" : others + ")"));
}

void HfKeys::fail_type(std::string_view key, std::string_view expected, const Json& got) const {
  fail(key, fmt::format("expected {}, got {}", expected, shown(got)));
}

std::int64_t HfKeys::checked(std::string_view key, const Json& value, std::int64_t least,
                             std::int64_t most) const {
  // An unsigned number beyond the signed range must not wrap round to something plausible.
  const bool fits = value.is_number_unsigned()
                        ? value.get<std::uint64_t>() <= static_cast<std::uint64_t>(most)
                        : value.is_number_integer() && value.get<std::int64_t>() <= most;
  if (!fits || value.get<std::int64_t>() < least) {
    fail_type(key, fmt::format("an integer from {} to {}", least, most), value);
  }
  return value.get<std::int64_t>();
}

}  // namespace refit
