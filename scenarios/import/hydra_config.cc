#include "scenarios/import/hydra_config.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/shown.h"
#include "base/text_file.h"
#include "base/yaml.h"

namespace refit {
namespace {

using Kind = HydraNode::Kind;

constexpr std::size_t kMostBytes = std::size_t{16} << 20;
// A chain of files has four or so; a list of lists could have any number.
constexpr std::size_t kMostFiles = 64;

[[noreturn]] void fail(const std::string& where, const std::string& message) {
  throw Error(ErrorCode::bad_input, fmt::format("{}: {}", where, message));
}

HydraNode* child_of(HydraNode& node, std::string_view key) {
  return const_cast<HydraNode*>(node.child(key));
}

HydraNode from_yaml(const YamlNode& yaml);

// What "<<" stands for comes first, and gives way to the map's own keys; of several maps the first
// counts.
void merge_keys(const YamlNode& merged, HydraNode& node) {
  if (merged.is_list()) {
    for (const YamlNode& item : merged.items()) merge_keys(item, node);
    return;
  }
  if (!merged.is_map()) fail(merged.where(), "'<<' must stand for a map, or a list of maps");
  for (auto& [key, value] : from_yaml(merged).children) {
    if (node.child(key) == nullptr) node.children.emplace_back(key, std::move(value));
  }
}

HydraNode from_yaml(const YamlNode& yaml) {
  HydraNode node;
  node.where = yaml.where();
  if (yaml.is_scalar()) {
    node.kind = Kind::scalar;
    node.text = yaml.text();
  } else if (yaml.is_list()) {
    node.kind = Kind::list;
    for (const YamlNode& item : yaml.items()) node.children.push_back({"", from_yaml(item)});
  } else if (yaml.is_map()) {
    node.kind = Kind::map;
    for (const auto& [key, value] : yaml.entries()) {
      if (key == "<<") merge_keys(value, node);
    }
    for (const auto& [key, value] : yaml.entries()) {
      if (key == "<<") continue;
      HydraNode* there = child_of(node, key);
      if (there != nullptr)
        *there = from_yaml(value);
      else
        node.children.push_back({key, from_yaml(value)});
    }
  }
  return node;
}

bool is_true(const HydraNode* node) {
  return node != nullptr && (node->text == "true" || node->text == "True");
}

void remove(HydraNode& map, std::string_view key) {
  std::erase_if(map.children, [&](const auto& child) { return child.key == key; });
}

// Maps are merged, everything else replaces what was there.
void merge(HydraNode& base, HydraNode child) {
  const bool replaces = is_true(child.child("_override_"));
  if (replaces) remove(child, "_override_");
  if (base.kind != Kind::map || child.kind != Kind::map || replaces) {
    base = std::move(child);
    return;
  }
  for (auto& [key, value] : child.children) {
    if (HydraNode* there = child_of(base, key)) {
      merge(*there, std::move(value));
    } else {
      base.children.push_back({key, std::move(value)});
    }
  }
}

// The files that one stands on, read before it.
class Chain {
 public:
  std::vector<std::string> files() && { return std::move(files_); }

  HydraNode load(const std::string& path) { return read(read_text_file(path, kMostBytes), path); }

  HydraNode read(const std::string& text, const std::string& path) {
    files_.push_back(path);
    if (files_.size() > kMostFiles)
      fail(path, fmt::format("more than {} files in a chain of defaults", kMostFiles));
    HydraNode own = from_yaml(YamlNode::parse_text_with_merges(text, path));
    if (own.kind != Kind::map) fail(own.where, "expected a map of settings");
    const HydraNode* defaults = own.child("defaults");
    if (defaults == nullptr) return own;
    open_.push_back(std::filesystem::path(path).lexically_normal().string());
    HydraNode base{Kind::map, {}, own.where, {}};
    for (const HydraNode* file : files_of(*defaults)) merge(base, below(*file, path));
    open_.pop_back();
    remove(own, "defaults");
    merge(base, std::move(own));
    return base;
  }

 private:
  static std::vector<const HydraNode*> files_of(const HydraNode& defaults) {
    std::vector<const HydraNode*> files;
    if (defaults.kind == Kind::scalar) return {&defaults};
    if (defaults.kind != Kind::list)
      fail(defaults.where, "defaults: expected the path of a file, or a list of paths");
    for (const auto& [none, item] : defaults.children) {
      if (item.kind != Kind::scalar)
        fail(item.where, "defaults: expected the path of a file; config groups are not read");
      files.push_back(&item);
    }
    return files;
  }

  HydraNode below(const HydraNode& file, const std::string& from) {
    namespace fs = std::filesystem;
    if (file.text == "_self_") return {Kind::map, {}, file.where, {}};
    const fs::path beside = fs::path(from).parent_path() / file.text;
    const std::string path = beside.lexically_normal().string();
    const auto before = std::find(open_.begin(), open_.end(), path);
    if (before != open_.end()) {
      std::string cycle;
      for (auto at = before; at != open_.end(); ++at)
        cycle += fs::path(*at).filename().string() + " -> ";
      fail(file.where, fmt::format("defaults: a cycle: {}{}; take one of them out", cycle,
                                   beside.filename().string()));
    }
    std::error_code ignored;
    if (!fs::is_regular_file(path, ignored))
      throw Error(ErrorCode::environment,
                  fmt::format("{}: defaults: there is no file {}; keep the folders as they are, "
                              "paths are relative to the file that names them",
                              file.where, shown(path, 200)));
    return load(path);
  }

  std::vector<std::string> files_;
  std::vector<std::string> open_;
};

// "a.b[0].c" -> a, b, 0, c.
std::vector<std::string> keys_of(const std::string& path) {
  std::vector<std::string> keys(1);
  for (const char c : path) {
    if (c == '.' || c == '[') {
      if (!keys.back().empty() || c == '.') keys.emplace_back();
    } else if (c != ']') {
      keys.back() += c;
    }
  }
  return keys;
}

HydraNode parse_value(const std::string& text, const std::string& word) {
  HydraNode node;
  if (text.empty()) {  // Hydra takes it for an empty text
    node.kind = Kind::scalar;
  } else if (text.front() == '$' || text.find("${") != std::string::npos) {
    node.kind = Kind::scalar;  // no YAML could hold a bare reference
    node.text = text;
  } else {
    node = from_yaml(YamlNode::parse_text(text, "override " + shown(word, 200)));
  }
  const std::string where = "override " + shown(word, 200);
  const auto mark = [&](HydraNode& n, const auto& self) -> void {
    n.where = where;
    for (auto& [key, child] : n.children) self(child, self);
  };
  mark(node, mark);
  return node;
}

void take_away(HydraNode& root, const std::string& path, const std::string& where) {
  const std::vector<std::string> keys = keys_of(path);
  HydraNode* node = &root;
  for (std::size_t i = 0; i + 1 < keys.size() && node != nullptr; ++i)
    node = child_of(*node, keys[i]);
  if (node == nullptr || node->child(keys.back()) == nullptr)
    fail(where, fmt::format("there is no {} to take away", shown(path, 120)));
  remove(*node, keys.back());
}

[[noreturn]] void fail_unknown(const HydraNode& map, const std::string& key,
                               const std::string& path, const std::string& where) {
  std::vector<std::string> known;
  for (const auto& [name, child] : map.children) known.push_back(name);
  const auto near = nearest_word(key, known);
  fail(where, fmt::format("there is no {} to change{}; to add it write '+{}=...'", shown(path, 120),
                          near ? fmt::format(" (did you mean '{}'?)", shown(*near)) : "",
                          shown(path, 120)));
}

template <class Number>
std::optional<Number> whole(const std::string& text) {
  Number value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

}  // namespace

const HydraNode* HydraNode::child(std::string_view key) const {
  if (kind == Kind::list) {
    std::size_t index = 0;
    const auto [stop, error] = std::from_chars(key.data(), key.data() + key.size(), index);
    const bool is_index = error == std::errc() && stop == key.data() + key.size();
    return is_index && index < children.size() ? &children[index].node : nullptr;
  }
  for (const auto& [name, node] : children) {
    if (name == key) return &node;
  }
  return nullptr;
}

void HydraValue::fail(const std::string& message) const {
  throw Error(ErrorCode::bad_input, fmt::format("{}: {}: {}", where, shown(path, 200), message));
}

std::int64_t HydraValue::integer(std::int64_t least, std::int64_t most) const {
  std::optional<std::int64_t> value = whole<std::int64_t>(text);
  if (!value) {  // 16.0 is what an interpolated division leaves
    const auto real = whole<double>(text);
    if (real && std::floor(*real) == *real && std::abs(*real) < 1e15)
      value = static_cast<std::int64_t>(*real);
  }
  if (!value || *value < least || *value > most)
    fail(fmt::format("expected an integer from {} to {}, got '{}'", least, most, shown(text)));
  return *value;
}

bool HydraValue::boolean() const {
  const std::string word = lower(text);
  if (word == "true" || word == "yes" || word == "on" || word == "1") return true;
  if (word == "false" || word == "no" || word == "off" || word == "0") return false;
  fail(fmt::format("expected true or false, got '{}'", shown(text)));
}

double HydraValue::number() const {
  const auto value = whole<double>(text);
  if (!value || !std::isfinite(*value))
    fail(fmt::format("expected a number, got '{}'", shown(text)));
  return *value;
}

HydraConfig HydraConfig::load(const std::string& path) {
  HydraConfig config;
  Chain chain;
  config.root_ = chain.load(path);
  config.files_ = std::move(chain).files();
  return config;
}

HydraConfig HydraConfig::parse(const std::string& text, const std::string& name) {
  HydraConfig config;
  config.root_ = Chain().read(text, name);
  return config;
}

void HydraConfig::apply(const std::string& word, bool has_base) {
  const std::string where = "override " + shown(word, 200);
  const std::size_t first = std::min(word.find_first_not_of("+~"), word.size());
  const std::string sign = word.substr(0, first);
  const std::size_t equals = word.find('=');
  const std::string path = word.substr(first, std::min(equals, word.size()) - first);
  const std::vector<std::string> keys = keys_of(path);
  const bool is_bad_key = path.empty() || keys.size() > 64 ||
                          std::find(keys.begin(), keys.end(), std::string()) != keys.end();
  if (is_bad_key || (sign != "" && sign != "+" && sign != "++" && sign != "~") ||
      (equals == std::string::npos && sign != "~"))
    fail(where, "expected a.b=c, +a.b=c, ++a.b=c or ~a.b");
  if (sign == "~") return take_away(root_, path, where);

  HydraNode* node = &root_;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const bool is_last = i + 1 == keys.size();
    HydraNode* next = child_of(*node, keys[i]);
    if (next == nullptr || (is_last && sign == "+")) {
      if (next != nullptr && next->kind != Kind::nothing && has_base)
        fail(where, fmt::format("{} is there already; to change it write '{}=...'", path, path));
      if (next == nullptr && sign.empty() && has_base) fail_unknown(*node, keys[i], path, where);
    }
    if (next == nullptr) {
      if (node->kind != Kind::map) {
        if (node->kind == Kind::list || node->kind == Kind::scalar)
          fail(where, fmt::format("{} has no keys, since {} is no map", path,
                                  i == 0 ? std::string("the file") : keys[i - 1]));
        node->kind = Kind::map;
      }
      node->children.push_back({keys[i], {}});
      next = &node->children.back().node;
    }
    node = next;
  }
  *node = parse_value(word.substr(equals + 1), word);
}

const HydraNode* HydraConfig::node(const std::string& path) const {
  return hydra_node(root_, path);
}

std::optional<HydraValue> HydraConfig::find(const std::string& path) {
  asked_.insert(path);
  const HydraNode* found = node(path);
  if (found == nullptr || found->kind == Kind::nothing) return std::nullopt;
  HydraValue value{{}, path, found->where};
  if (found->kind != Kind::scalar) value.fail("expected one value, got a list or a map");
  const std::optional<std::string> text = hydra_text(root_, path, *found);
  if (!text) return std::nullopt;
  value.text = *text;
  return value;
}

bool HydraConfig::flag(const std::string& path, bool otherwise) {
  const auto value = find(path);
  return value ? value->boolean() : otherwise;
}

std::int64_t HydraConfig::integer(const std::string& path, std::int64_t least, std::int64_t most,
                                  std::int64_t otherwise) {
  const auto value = find(path);
  return value ? value->integer(least, most) : otherwise;
}

std::vector<std::string> HydraConfig::words(const std::string& path) {
  const HydraNode* found = node(path);
  if (found == nullptr || found->kind != Kind::list) {
    const auto value = find(path);
    return value ? std::vector<std::string>{value->text} : std::vector<std::string>{};
  }
  asked_.insert(path);
  std::vector<std::string> words;
  for (const auto& [none, item] : found->children) {
    if (item.kind == Kind::scalar) words.push_back(item.text);
  }
  return words;
}

bool HydraConfig::is_null(const std::string& path) const {
  const HydraNode* found = node(path);
  return found != nullptr && found->kind == Kind::nothing;
}

std::vector<HydraValue> HydraConfig::not_asked(const std::string& path) const {
  std::vector<HydraValue> values;
  const auto walk = [&](const HydraNode& node, const std::string& at, const auto& self) -> void {
    if (asked_.count(at) > 0) return;
    if (node.kind == Kind::scalar) values.push_back({node.text, at, node.where});
    if (node.kind == Kind::list && !node.children.empty())
      values.push_back({"a list", at, node.where});
    if (node.kind != Kind::map) return;
    for (const auto& [key, child] : node.children) self(child, at + "." + key, self);
  };
  if (const HydraNode* found = node(path)) walk(*found, path, walk);
  return values;
}

}  // namespace refit
