#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace refit::detail {

using Json = nlohmann::json;

// A value as text for a message: its first 40 characters.
std::string short_dump(const Json& value);

// Strict reading of the values of one file: whatever is not as expected is an Error(bad_input) that
// names the file and the place. Places are built for messages only: `where` arguments are
// callables.
class JsonValues {
 public:
  explicit JsonValues(const std::string& file) : file_(file) {}

  const Json& member(const Json& object, const char* key, const std::string& path) const;
  void allow_only(const Json& object, std::initializer_list<std::string_view> keys,
                  const std::string& path) const;
  const Json& list(const Json& value, const std::string& path) const;
  std::string text(const Json& value, const std::string& path) const;

  template <class Where>
  std::int64_t integer(const Json& value, std::int64_t least, std::int64_t most,
                       const Where& where) const {
    // Positive numbers come unsigned; those past int64_t are past every `most`.
    if (const auto* number = value.get_ptr<const Json::number_unsigned_t*>();
        number != nullptr && *number <= std::uint64_t{std::numeric_limits<std::int64_t>::max()}) {
      const auto signed_number = static_cast<std::int64_t>(*number);
      if (least <= signed_number && signed_number <= most) return signed_number;
    } else if (number == nullptr && value.is_number_integer()) {
      const auto negative = value.get<std::int64_t>();
      if (least <= negative && negative <= most) return negative;
    }
    fail(where(),
         fmt::format("expected an integer from {} to {}, got {}", least, most, short_dump(value)));
  }

  [[noreturn]] void fail(const std::string& path, const std::string& message) const;

 private:
  std::string file_;
};

}  // namespace refit::detail
