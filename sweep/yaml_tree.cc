#include "sweep/yaml_tree.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"

namespace refit {
namespace {

using Kind = YamlTree::Kind;

bool is_word(std::string_view text) {
  const auto alphanumeric = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  if (text.empty() || !alphanumeric(text.front()) || text.back() == ' ') return false;
  for (const std::string_view nothing : {"null", "Null", "NULL"})
    if (text == nothing) return false;
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return alphanumeric(c) || std::string_view("_./-+* ").find(c) != std::string_view::npos;
  });
}

// As a plain word where that is safe, otherwise in double quotes.
std::string scalar_text(std::string_view text) {
  if (is_word(text)) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '\n') {
      quoted += "\\n";
    } else if (c == '\t') {
      quoted += "\\t";
    } else {
      if (c == '"' || c == '\\') quoted += '\\';
      quoted += c;
    }
  }
  return quoted + '"';
}

std::string leaf_text(const YamlTree& tree) {
  switch (tree.kind) {
    case Kind::nothing:
      return "~";
    case Kind::scalar:
      return scalar_text(tree.text);
    case Kind::list:
      return "[]";
    case Kind::map:
      return "{}";
  }
  return {};
}

bool is_leaf(const YamlTree& tree) { return tree.children.empty(); }

bool is_flat_list(const YamlTree& tree) {
  return tree.kind == Kind::list &&
         std::all_of(tree.children.begin(), tree.children.end(),
                     [](const auto& child) { return is_leaf(child.second); });
}

std::optional<std::size_t> as_index(const std::string& key) {
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), index);
  if (error != std::errc() || end != key.data() + key.size()) return std::nullopt;
  return index;
}

// The child of a map or list under the key, or null.
template <class Tree>
Tree* child_of(Tree& tree, const std::string& key) {
  if (tree.kind == Kind::list) {
    const auto index = as_index(key);
    return index && *index < tree.children.size() ? &tree.children[*index].second : nullptr;
  }
  for (auto& [name, child] : tree.children)
    if (name == key) return &child;
  return nullptr;
}

}  // namespace

YamlTree tree_of(const YamlNode& node) {
  YamlTree tree;
  tree.where = node.where();
  if (node.is_scalar()) {
    tree.kind = Kind::scalar;
    tree.text = node.text();
  } else if (node.is_list()) {
    tree.kind = Kind::list;
    for (const YamlNode& item : node.items()) tree.children.emplace_back("", tree_of(item));
  } else if (node.is_map()) {
    tree.kind = Kind::map;
    for (const auto& [key, value] : node.entries()) tree.children.emplace_back(key, tree_of(value));
  }
  return tree;
}

YamlTree scalar_tree(std::string text, std::string where) {
  return {Kind::scalar, std::move(text), {}, std::move(where)};
}

std::vector<std::string> split_path(std::string_view path, const std::string& where) {
  std::vector<std::string> keys;
  std::string key;
  const auto fail = [&] {
    throw Error(ErrorCode::bad_input,
                fmt::format("{}: '{}' is no path of keys; write one like cluster.nic_bandwidth or "
                            "cluster.groups[0].nodes",
                            where, path));
  };
  bool after_index = false;
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i] == '.') {
      if (key.empty() && !after_index) fail();
      if (!key.empty()) keys.push_back(std::exchange(key, {}));
      after_index = false;
    } else if (path[i] == '[') {
      const std::size_t end = path.find(']', i);
      if (end == path.npos || (key.empty() && !after_index)) fail();
      if (!key.empty()) keys.push_back(std::exchange(key, {}));
      keys.emplace_back(path.substr(i + 1, end - i - 1));
      if (!as_index(keys.back())) fail();
      i = end;
      after_index = true;
    } else {
      if (after_index) fail();
      key += path[i];
    }
  }
  if (key.empty() && !after_index) fail();
  if (!key.empty()) keys.push_back(key);
  return keys;
}

const YamlTree* find_in(const YamlTree& root, const std::vector<std::string>& path) {
  const YamlTree* at = &root;
  for (const std::string& key : path) {
    at = child_of(*at, key);
    if (at == nullptr) return nullptr;
  }
  return at;
}

void put_into(YamlTree& root, const std::vector<std::string>& path, YamlTree value) {
  YamlTree* at = &root;
  std::string so_far;
  for (const std::string& key : path) {
    YamlTree* child = child_of(*at, key);
    if (child == nullptr) {
      if (at->kind == Kind::nothing) at->kind = Kind::map;
      if (at->kind != Kind::map) {
        throw Error(
            ErrorCode::bad_input,
            fmt::format("{}: {} is {} in the base scenario and has no '{}'; {}", value.where,
                        so_far, at->kind == Kind::list ? "a list" : one_line(*at), key,
                        at->kind == Kind::list ? "write an index that it has, as in [0]"
                                               : "write it there as a map of keys"));
      }
      at->children.emplace_back(key, YamlTree{Kind::nothing, {}, {}, value.where});
      child = &at->children.back().second;
    }
    so_far += (so_far.empty() ? "" : ".") + key;
    at = child;
  }
  *at = std::move(value);
}

void drop_from(YamlTree& root, std::string_view key) {
  std::erase_if(root.children, [&](const auto& child) { return child.first == key; });
}

std::string one_line(const YamlTree& tree) {
  if (tree.kind == Kind::scalar) return tree.text;  // as it was written
  if (is_leaf(tree)) return leaf_text(tree);
  std::string text;
  for (const auto& [key, child] : tree.children) {
    if (!text.empty()) text += ", ";
    if (tree.kind == Kind::map) text += scalar_text(key) + ": ";
    text += child.kind == Kind::scalar ? scalar_text(child.text) : one_line(child);
  }
  return tree.kind == Kind::map ? "{" + text + "}" : "[" + text + "]";
}

WrittenTree::WrittenTree(const YamlTree& root, std::string name) : name_(std::move(name)) {
  if (is_leaf(root)) {
    note(root);
    add(leaf_text(root) + "\n");
  } else {
    add_lines(root, 0, false);
  }
}

// `tree` begins at the end of the text.
void WrittenTree::note(const YamlTree& tree) {
  origins_.emplace(Place{line_, static_cast<int>(text_.size() - line_begin_) + 1}, tree.where);
}

// The flow form of a list of scalars, each with its place.
void WrittenTree::add_flow(const YamlTree& tree) {
  add("[");
  for (const auto& [key, child] : tree.children) {
    if (&child != &tree.children.front().second) add(", ");
    note(child);
    add(leaf_text(child));
  }
  add("]");
}

void WrittenTree::add_value(const YamlTree& tree, std::size_t indent) {
  const auto end_line = [&] {
    add("\n");
    ++line_;
    line_begin_ = text_.size();
  };
  if (!is_leaf(tree) && !is_flat_list(tree)) {
    end_line();
    add_lines(tree, indent, false);
    return;
  }
  add(" ");
  note(tree);
  is_leaf(tree) ? add(leaf_text(tree)) : add_flow(tree);
  end_line();
}

// The children of a list or map, one after the other; `begun`: the first stands behind what is
// there.
void WrittenTree::add_lines(const YamlTree& tree, std::size_t indent, bool begun) {
  bool first = true;
  for (const auto& [key, child] : tree.children) {
    if (!begun || !first) add(std::string(indent, ' '));
    if (first) note(tree);
    first = false;
    if (tree.kind == Kind::map) {
      add(scalar_text(key) + ":");
      add_value(child, indent + 2);
      continue;
    }
    add("-");
    if (is_leaf(child) || is_flat_list(child)) {
      add_value(child, indent + 2);
    } else {
      add(" ");
      add_lines(child, indent + 2, true);
    }
  }
}

std::string WrittenTree::with_origins(std::string_view message) const {
  std::string result;
  const std::string prefix = name_ + ":";
  while (true) {
    const std::size_t at = message.find(prefix);
    result += message.substr(0, at);
    if (at == message.npos) return result;
    message.remove_prefix(at + prefix.size());
    int line = 0, column = 0;
    const char* end = message.data() + message.size();
    const auto [colon, bad_line] = std::from_chars(message.data(), end, line);
    const bool has_line = bad_line == std::errc() && colon != end && *colon == ':';
    const auto [rest, bad_column] = std::from_chars(has_line ? colon + 1 : end, end, column);
    // Keys have no origin of their own: their values' is near enough.
    const auto origin = origins_.lower_bound({line, column});
    if (!has_line || bad_column != std::errc() || origin == origins_.end()) {
      result += prefix;
      continue;
    }
    result += origin->second;
    message.remove_prefix(static_cast<std::size_t>(rest - message.data()));
  }
}

}  // namespace refit
