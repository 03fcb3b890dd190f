#include "schedule/detail/schedule_json_values.h"

#include <algorithm>

#include "base/error.h"
#include "base/shown.h"

namespace refit::detail {

std::string short_dump(const Json& value) {
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > 40) text = text.substr(0, 37) + "...";
  return text;
}

void JsonValues::fail(const std::string& path, const std::string& message) const {
  throw Error(ErrorCode::bad_input, path.empty() ? fmt::format("{}: {}", file_, message)
                                                 : fmt::format("{}: {}: {}", file_, path, message));
}

const Json& JsonValues::member(const Json& object, const char* key, const std::string& path) const {
  if (!object.is_object()) {
    fail(path, fmt::format("expected an object, got {}", short_dump(object)));
  }
  const auto found = object.find(key);
  if (found == object.end()) fail(path, fmt::format("the member '{}' is missing", key));
  return *found;
}

void JsonValues::allow_only(const Json& object, std::initializer_list<std::string_view> keys,
                            const std::string& path) const {
  for (const auto& [key, value] : object.items()) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
      fail(path, fmt::format("unknown member '{}'; use {}", shown(key), fmt::join(keys, ", ")));
    }
  }
}

const Json& JsonValues::list(const Json& value, const std::string& path) const {
  if (!value.is_array()) fail(path, fmt::format("expected a list, got {}", short_dump(value)));
  return value;
}

std::string JsonValues::text(const Json& value, const std::string& path) const {
  if (!value.is_string()) fail(path, fmt::format("expected a text, got {}", short_dump(value)));
  return value.get<std::string>();
}

}  // namespace refit::detail
