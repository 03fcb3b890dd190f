#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace refit {

// The largest width, vocabulary or rank that is taken seriously. Checked before anything is
// allocated or multiplied.
inline constexpr std::int64_t kMostSize = std::int64_t{1} << 31;
inline constexpr std::int64_t kMostLayers = 10'000;
inline constexpr std::int64_t kMostExperts = 65'536;
inline constexpr std::int64_t kMostHeads = 65'536;

// One name or several: families spell the same number differently. The first is the family's own.
using Spellings = std::initializer_list<std::string_view>;

// A complaint about one key. It knows the key's path, so that whoever has the text can say where it
// is.
class HfKeyError : public Error {
 public:
  HfKeyError(const std::string& where, std::string path, std::string complaint);

  const std::string& path() const { return path_; }            // "text_config.hidden_size"
  const std::string& complaint() const { return complaint_; }  // without the file

 private:
  std::string path_;
  std::string complaint_;
};

// Typed reading of one object of a config.json. A key whose value is null counts as absent. Every
// complaint names the file and the key with its path ("text_config.hidden_size").
class HfKeys {
 public:
  // `object` must outlive this. Error(bad_input) if it is not a JSON object.
  HfKeys(const nlohmann::json& object, std::string where, std::string path = {});

  bool has(std::string_view key) const;
  HfKeys object(std::string_view key) const;

  // Error(bad_input) if none of the spellings is there, if two disagree, or if the value is no
  // integer from `least` to `most`.
  std::int64_t integer(Spellings spellings, std::int64_t least, std::int64_t most) const;
  std::optional<std::int64_t> find_integer(Spellings spellings, std::int64_t least,
                                           std::int64_t most) const;
  std::int64_t size(std::string_view key) const;  // 1 .. kMostSize

  // For keys where null is a statement: the key must be there, null is nothing.
  std::optional<std::int64_t> integer_or_null(std::string_view key, std::int64_t least,
                                              std::int64_t most) const;

  bool flag(std::string_view key, bool fallback) const;
  std::string text(std::string_view key) const;
  std::vector<std::string> words(std::string_view key) const;
  std::vector<std::int64_t> integers(std::string_view key, std::int64_t least,
                                     std::int64_t most) const;

  // The keys that are there, in alphabetical order.
  std::vector<std::string> keys() const;

  // For switches whose other position would change the tensors in a way nobody has described here.
  void expect_flag(std::string_view key, bool expected) const;

  [[noreturn]] void fail(std::string_view key, std::string_view message) const;
  [[noreturn]] void fail_missing(Spellings spellings) const;

  const std::string& where() const { return where_; }

 private:
  const nlohmann::json* find(std::string_view key) const;
  [[noreturn]] void fail_type(std::string_view key, std::string_view expected,
                              const nlohmann::json& got) const;
  std::int64_t checked(std::string_view key, const nlohmann::json& value, std::int64_t least,
                       std::int64_t most) const;

  const nlohmann::json* object_;
  std::string where_;
  std::string path_;  // with a trailing dot; empty at the root
};

}  // namespace refit
