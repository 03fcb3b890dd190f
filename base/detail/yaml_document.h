#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/yaml.h"

namespace refit::detail {

constexpr std::size_t kMostYamlBytes = std::size_t{16} << 20;

enum class YamlKind { nothing, scalar, list, map, alias };

struct YamlItem {
  YamlKind kind = YamlKind::nothing;
  int line = 1, column = 1;  // as editors count, from 1
  std::size_t end = 0;       // list and map: the item after the last one inside
  std::size_t target = 0;    // alias: the item it stands for
  std::string text;          // scalar
};

// A parsed document: its items in file order. What is inside a list or a map follows it up to
// `end`, in a map as key, value, key, value.
//
//   a: [x, y]       0 map(end 5)   1 "a"   2 list(end 5)   3 "x"   4 "y"
struct YamlDocument {
  std::string name;
  std::vector<YamlItem> items;

  // The item beside item `i` that follows it.
  std::size_t after(std::size_t i) const {
    const YamlItem& item = items[i];
    return item.kind == YamlKind::list || item.kind == YamlKind::map ? item.end : i + 1;
  }
};

// The one function of the house that knows yaml-cpp (yaml.cc).
YamlDocument parse_yaml(const std::string& text, const std::string& name, bool merges = false);

// "generation" and "tensor" are "generation.tensor"; a list's path and 2 are "clusters[2]".
std::string path_of_key(const std::string& parent, const std::string& key);
std::string path_of_item(const std::string& parent, std::size_t index);

}  // namespace refit::detail

namespace refit {

struct YamlNode::Place {
  std::shared_ptr<const detail::YamlDocument> document;
  std::size_t item = 0;  // never an alias: the reader follows it at once
  std::string path;

  const detail::YamlItem& here() const { return document->items[item]; }
  YamlNode child(std::size_t i, std::string child_path) const;
  std::string where() const;
  [[noreturn]] void fail(const std::string& message) const;
};

}  // namespace refit
