#include "base/yaml.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "base/shown.h"
#include "base/detail/yaml_document.h"
#include "base/error.h"
#include "base/text_file.h"
#include "base/units.h"

namespace refit {

using detail::YamlDocument;
using detail::YamlItem;
using detail::YamlKind;

namespace {

std::string describe(const YamlItem& item) {
  switch (item.kind) {
    case YamlKind::scalar:
      return fmt::format("'{}'", shown(item.text));
    case YamlKind::list:
      return "a list";
    case YamlKind::map:
      return "a map";
    default:
      return "nothing";
  }
}

// The whole of `text` as a number, or nothing.
template <class Number>
std::optional<Number> parse_whole(const std::string& text) {
  Number value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

// "unknown key 'tensr'; did you mean 'tensor'? known keys: name, tensor"
std::string unknown(std::string_view what, const std::string& word,
                    const std::vector<std::string>& known) {
  const auto nearest = nearest_word(word, known);
  const std::string hint = nearest ? fmt::format("did you mean '{}'? ", *nearest) : "";
  return fmt::format("unknown {} '{}'; {}known {}s: {}", what, shown(word), hint, what,
                     known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", ")));
}

// A complaint of units.h, with the place in front.
template <class Parse>
auto with_place(const YamlNode& node, std::string_view what, Parse parse) {
  if (!node.is_scalar()) node.fail(fmt::format("expected {}", what));
  const std::string text = node.text();
  try {
    return parse(text);
  } catch (const Error& error) {
    node.fail(error.what());
  }
}

}  // namespace

namespace detail {

std::string path_of_key(const std::string& parent, const std::string& key) {
  return parent.empty() ? shown(key) : fmt::format("{}.{}", parent, shown(key));
}

std::string path_of_item(const std::string& parent, std::size_t index) {
  return fmt::format("{}[{}]", parent, index);
}

}  // namespace detail

// Nested, so it may make nodes; follows aliases.
YamlNode YamlNode::Place::child(std::size_t i, std::string child_path) const {
  if (document->items[i].kind == YamlKind::alias) i = document->items[i].target;
  return YamlNode(std::make_shared<const Place>(Place{document, i, std::move(child_path)}));
}

std::string YamlNode::Place::where() const {
  return fmt::format("{}:{}:{}", document->name, here().line, here().column);
}

void YamlNode::Place::fail(const std::string& message) const {
  const std::string prefix = path.empty() ? "" : path + ": ";
  throw Error(ErrorCode::bad_input, fmt::format("{}: {}{}", where(), prefix, message));
}

YamlNode::YamlNode(std::shared_ptr<const Place> place) : place_(std::move(place)) {}

YamlNode YamlNode::parse_file(const std::string& path) {
  return parse_text(read_text_file(path, detail::kMostYamlBytes), path);
}

YamlNode YamlNode::parse_text(const std::string& text, const std::string& name) {
  auto document = std::make_shared<const YamlDocument>(detail::parse_yaml(text, name));
  return YamlNode(std::make_shared<const Place>(Place{std::move(document), 0, ""}));
}

YamlNode YamlNode::parse_text_with_merges(const std::string& text, const std::string& name) {
  auto document = std::make_shared<const YamlDocument>(detail::parse_yaml(text, name, true));
  return YamlNode(std::make_shared<const Place>(Place{std::move(document), 0, ""}));
}

std::string YamlNode::text() const {
  const YamlItem& item = place_->here();
  if (item.kind != YamlKind::scalar) fail(fmt::format("expected text, got {}", describe(item)));
  return item.text;
}

std::int64_t YamlNode::integer(std::int64_t least, std::int64_t most) const {
  const YamlItem& item = place_->here();
  if (item.kind == YamlKind::scalar) {
    const auto value = parse_whole<std::int64_t>(item.text);
    if (value && *value >= least && *value <= most) return *value;
  }
  const bool is_open = most == std::numeric_limits<std::int64_t>::max();
  const std::string range =
      is_open ? fmt::format("of at least {}", least) : fmt::format("from {} to {}", least, most);
  fail(fmt::format("expected an integer {}, got {}", range, describe(item)));
}

double YamlNode::number() const {
  const YamlItem& item = place_->here();
  if (item.kind == YamlKind::scalar) {
    const auto value = parse_whole<double>(item.text);
    if (value && std::isfinite(*value)) return *value;
  }
  fail(fmt::format("expected a finite number, got {}", describe(item)));
}

bool YamlNode::boolean() const {
  const YamlItem& item = place_->here();
  if (item.kind == YamlKind::scalar && item.text == "true") return true;
  if (item.kind == YamlKind::scalar && item.text == "false") return false;
  fail(fmt::format("expected true or false, got {}", describe(item)));
}

double YamlNode::bandwidth() const {
  const std::string what = "a bandwidth like '400 Gbit/s', got " + describe(place_->here());
  return with_place(*this, what, parse_bandwidth);
}

std::int64_t YamlNode::bytes() const {
  const std::string what = "a size like '64 MiB', got " + describe(place_->here());
  return with_place(*this, what, parse_bytes);
}

double YamlNode::seconds() const {
  const std::string what = "a time like '5 us', got " + describe(place_->here());
  return with_place(*this, what, parse_seconds);
}

double YamlNode::percent() const {
  const std::string written = text();
  const std::size_t digits = written.find_last_not_of(" %") + 1;  // npos + 1 is 0
  const auto percent = parse_whole<double>(written.substr(0, digits));
  const bool has_sign = std::count(written.begin(), written.end(), '%') == 1;
  if (!percent || !has_sign || !(*percent >= 0 && *percent <= 100))
    fail(fmt::format("expected a percentage from 0 % to 100 %, got '{}'", shown(written)));
  return *percent / 100;
}

bool YamlNode::is_map() const { return place_->here().kind == YamlKind::map; }
bool YamlNode::is_list() const { return place_->here().kind == YamlKind::list; }
bool YamlNode::is_scalar() const { return place_->here().kind == YamlKind::scalar; }

YamlNode YamlNode::at(std::string_view key) const {
  if (auto node = find(key)) return *std::move(node);
  fail(fmt::format("missing key '{}'", key));
}

std::optional<YamlNode> YamlNode::find(std::string_view key) const {
  if (!is_map()) {
    fail(fmt::format("expected a map with key '{}', got {}", key, describe(place_->here())));
  }
  const YamlDocument& document = *place_->document;
  for (std::size_t i = place_->item + 1; i < place_->here().end; i = document.after(i + 1)) {
    const std::string& name = document.items[i].text;
    if (name == key) return place_->child(i + 1, detail::path_of_key(path(), name));
  }
  return std::nullopt;
}

std::vector<YamlNode> YamlNode::items() const {
  if (!is_list()) fail(fmt::format("expected a list, got {}", describe(place_->here())));
  std::vector<YamlNode> nodes;
  for (std::size_t i = place_->item + 1; i < place_->here().end; i = place_->document->after(i)) {
    nodes.push_back(place_->child(i, detail::path_of_item(path(), nodes.size())));
  }
  return nodes;
}

std::vector<std::pair<std::string, YamlNode>> YamlNode::entries() const {
  if (!is_map()) fail(fmt::format("expected a map, got {}", describe(place_->here())));
  const YamlDocument& document = *place_->document;
  std::vector<std::pair<std::string, YamlNode>> nodes;
  for (std::size_t i = place_->item + 1; i < place_->here().end; i = document.after(i + 1)) {
    const std::string& key = document.items[i].text;
    nodes.emplace_back(key, place_->child(i + 1, detail::path_of_key(path(), key)));
  }
  return nodes;
}

void YamlNode::allow_only(std::span<const std::string_view> keys) const {
  if (!is_map()) fail(fmt::format("expected a map, got {}", describe(place_->here())));
  const std::vector<std::string> known(keys.begin(), keys.end());
  const YamlDocument& document = *place_->document;
  for (std::size_t i = place_->item + 1; i < place_->here().end; i = document.after(i + 1)) {
    const std::string& key = document.items[i].text;
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    // At the key itself, not at the map's first line.
    Place{place_->document, i, path()}.fail(unknown("key", key, known));
  }
}

std::string YamlNode::where() const { return place_->where(); }

std::string YamlNode::path() const { return place_->path; }

void YamlNode::fail(const std::string& message) const { place_->fail(message); }

void YamlNode::fail_choice(const std::string& word,
                           const std::vector<std::string>& spellings) const {
  fail(unknown("value", word, spellings));
}

}  // namespace refit
