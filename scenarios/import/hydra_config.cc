#include "scenarios/import/hydra_config.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/shown.h"
#include "base/yaml.h"
#include "scenarios/import/hydra_defaults.h"

namespace refit {
namespace {

using Kind = HydraNode::Kind;

[[noreturn]] void fail(const std::string& where, const std::string& message) {
  throw Error(ErrorCode::bad_input, fmt::format("{}: {}", where, message));
}

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
    node = hydra_node_of(YamlNode::parse_text(text, "override " + shown(word, 200)));
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
  for (std::size_t i = 0; i + 1 < keys.size() && node != nullptr; ++i) node = node->child(keys[i]);
  if (node == nullptr || node->child(keys.back()) == nullptr)
    fail(where, fmt::format("there is no {} to take away", shown(path, 120)));
  node->remove(keys.back());
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
  config.root_ = load_with_defaults(path);
  return config;
}

HydraConfig HydraConfig::parse(const std::string& text, const std::string& name) {
  HydraConfig config;
  config.root_ = read_with_defaults(text, name);
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
    HydraNode* next = node->child(keys[i]);
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
