#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace refit {

// One place in a YAML document: it knows its file, line, column and path ("generation.tensor"), and
// every complaint names them. yaml-cpp shows nowhere else.
//
//   YamlNode root = YamlNode::parse_file("moe.yaml");
//   root.allow_only({"name", "generation"});
//   std::int64_t tensor = root.at("generation").at("tensor").integer(1, 1024);
//
//   moe.yaml:14:11: generation.tensor: expected an integer from 1 to 1024, got 'three'
class YamlNode {
 public:
  // Error(environment) if the file can't be read, Error(bad_input) if it is not YAML, is larger
  // than 16 MiB, repeats a key in one map, or nests deeper than 64 levels.
  static YamlNode parse_file(const std::string& path);
  static YamlNode parse_text(const std::string& text, const std::string& name);
  // The same where merge keys ("<<") stand among a map's entries, for whoever merges them. They are
  // refused otherwise.
  static YamlNode parse_text_with_merges(const std::string& text, const std::string& name);

  // Readers throw Error(bad_input) with place, path, what was expected and what stands there.
  std::string text() const;
  std::int64_t integer(std::int64_t least, std::int64_t most) const;
  double number() const;  // finite
  bool boolean() const;
  double bandwidth() const;    // bytes/s, units.h
  std::int64_t bytes() const;  // units.h
  double seconds() const;      // units.h
  double percent() const;      // "30 %" -> 0.3, from 0 % to 100 %

  bool is_map() const;
  bool is_list() const;
  bool is_scalar() const;

  YamlNode at(std::string_view key) const;                        // missing key: error
  std::optional<YamlNode> find(std::string_view key) const;       // missing key: nothing
  std::vector<YamlNode> items() const;                            // of a list
  std::vector<std::pair<std::string, YamlNode>> entries() const;  // of a map, in file order

  // An unknown key is an error that names the nearest known one.
  void allow_only(std::span<const std::string_view> keys) const;
  void allow_only(std::initializer_list<std::string_view> keys) const {
    allow_only(std::span(keys.begin(), keys.size()));
  }

  // The value of the entry spelled like this scalar; otherwise an error that lists all spellings.
  template <class Value>
  Value one_of(std::initializer_list<std::pair<std::string_view, Value>> choices) const {
    const std::string word = text();
    std::vector<std::string> spellings;
    for (const auto& [name, value] : choices) {
      if (name == word) return value;
      spellings.emplace_back(name);
    }
    fail_choice(word, spellings);
  }

  std::string where() const;  // "moe.yaml:14:11"
  std::string path() const;   // "generation.tensor"; empty at the root

  // Throws Error(bad_input, "where: path: message").
  [[noreturn]] void fail(const std::string& message) const;

 private:
  struct Place;
  explicit YamlNode(std::shared_ptr<const Place> place);
  [[noreturn]] void fail_choice(const std::string& word,
                                const std::vector<std::string>& spellings) const;

  std::shared_ptr<const Place> place_;
};

// The known word nearest to `word` by edit distance, if one is near enough to be a slip of the pen.
std::optional<std::string> nearest_word(std::string_view word,
                                        const std::vector<std::string>& known);

}  // namespace refit
