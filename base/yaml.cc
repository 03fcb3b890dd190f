#include "base/yaml.h"

#include <algorithm>
#include <cstdint>
#include <sstream>
#include <unordered_map>

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include "base/shown.h"
#include "base/detail/yaml_document.h"
#include "base/detail/yaml_text.h"
#include "base/error.h"

namespace refit::detail {

namespace {

constexpr std::size_t kMostLevels = 64;
// Aliases count as often as they stand for a value, so walking a document is never longer than
// this.
constexpr std::size_t kMostValues = 500'000;

// Turns yaml-cpp's events into items. The event parser calls us before it descends, so a document
// that nests too deep is refused before yaml-cpp's own recursion can exhaust the stack.
class DocumentBuilder : public YAML::EventHandler {
 public:
  DocumentBuilder(const std::string& name, bool merges) : merges_(merges) { document_.name = name; }

  YamlDocument take() && {
    if (doubt_) throw Error(*doubt_);
    if (document_.items.empty()) document_.items.emplace_back();  // an empty file holds nothing
    return std::move(document_);
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (started_) fail(mark, "a second document starts here; a file holds one");
    started_ = true;
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    YamlItem item = item_at(mark, YamlKind::nothing);
    if (!open_.empty() && !open_.back().at_key()) {  // yaml-cpp marks what follows; show the key
      const YamlItem& key = document_.items[open_.back().key];
      if (key.line == item.line && key.column == item.column) {  // the key's own mark: no colon
        doubt(mark, fmt::format("'{0}' has no value; write '{0}: value'", shown(key.text)));
      }
      item.line = key.line;
      item.column = key.column;
    }
    add(mark, std::move(item));
    remember(anchor, {document_.items.size() - 1, 1, 0, true});
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    refuse_tag(mark, tag);
    YamlItem item = item_at(mark, YamlKind::scalar);
    item.text = value;
    add(mark, std::move(item));
    remember(anchor, {document_.items.size() - 1, 1, 0, true});
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const Anchored& anchored = anchors_.at(anchor);
    if (!anchored.closed)
      fail(mark, "an alias inside the value it stands for; write the value out");
    if (open_.size() + anchored.levels > kMostLevels) fail_depth(mark);
    YamlItem item = item_at(mark, YamlKind::alias);
    item.target = anchored.item;
    add(mark, std::move(item), anchored.values);
    if (!open_.empty()) open_.back().levels = std::max(open_.back().levels, anchored.levels);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    descend(mark, tag, anchor, YamlKind::list);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    descend(mark, tag, anchor, YamlKind::map);
  }
  void OnSequenceEnd() override { ascend(); }
  void OnMapEnd() override { ascend(); }

 private:
  // A list or map whose end has not come yet.
  struct Open {
    std::size_t item;
    bool is_map;
    YAML::anchor_t anchor;
    std::size_t values_before;
    std::size_t children = 0;
    std::size_t key = 0;     // a map's latest key
    std::size_t levels = 0;  // of lists and maps inside
    std::unordered_map<std::string, int> key_lines;

    bool at_key() const { return is_map && children % 2 == 0; }
  };
  struct Anchored {
    std::size_t item;
    std::size_t values;
    std::size_t levels;
    bool closed;
  };

  static YamlItem item_at(const YAML::Mark& mark, YamlKind kind) {
    YamlItem item;
    item.kind = kind;
    item.line = mark.line + 1;
    item.column = mark.column + 1;
    return item;
  }

  void add(const YAML::Mark& mark, YamlItem item, std::size_t values = 1) {
    values_ += values;
    if (values_ > kMostValues) {
      fail(mark, fmt::format("more than {} values, aliases counted as often as they stand for one; "
                             "write a smaller file",
                             kMostValues));
    }
    if (!open_.empty()) {
      Open& parent = open_.back();
      if (parent.at_key()) add_key(mark, parent, item);
      ++parent.children;
    }
    document_.items.push_back(std::move(item));
  }

  void add_key(const YAML::Mark& mark, Open& map, const YamlItem& key) {
    map.key = document_.items.size();
    if (key.kind != YamlKind::scalar) return doubt(mark, "a key must be a word or a number");
    if (key.text == "<<" && !merges_)
      fail(mark, "merge keys ('<<') are not read; write the keys out");
    const auto [first, is_new] = map.key_lines.emplace(key.text, key.line);
    if (!is_new) {
      fail(mark, fmt::format("key '{}' repeats, it stands first in line {}; keep one",
                             shown(key.text), first->second));
    }
  }

  void descend(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
               YamlKind kind) {
    refuse_tag(mark, tag);
    if (open_.size() == kMostLevels) fail_depth(mark);
    const std::size_t values_before = values_;
    add(mark, item_at(mark, kind));
    const std::size_t item = document_.items.size() - 1;
    remember(anchor, {item, 0, 0, false});
    open_.push_back({.item = item,
                     .is_map = kind == YamlKind::map,
                     .anchor = anchor,
                     .values_before = values_before,
                     .key_lines = {}});
  }

  void ascend() {
    const Open closed = std::move(open_.back());
    open_.pop_back();
    document_.items[closed.item].end = document_.items.size();
    const std::size_t levels = closed.levels + 1;
    remember(closed.anchor, {closed.item, values_ - closed.values_before, levels, true});
    if (!open_.empty()) open_.back().levels = std::max(open_.back().levels, levels);
  }

  void remember(YAML::anchor_t anchor, const Anchored& anchored) {
    if (anchor != YAML::NullAnchor) anchors_.insert_or_assign(anchor, anchored);
  }

  // yaml-cpp says "?" for a plain value and "!" for a quoted one.
  void refuse_tag(const YAML::Mark& mark, const std::string& tag) const {
    if (tag.empty() || tag == "?" || tag == "!") return;
    fail(mark, fmt::format("tag '{}' is not read; leave it out", shown(tag)));
  }

  // A complaint that stands only if yaml-cpp finds nothing worse: at an unclosed bracket it makes
  // up keys, and later says what is really wrong.
  void doubt(const YAML::Mark& mark, const std::string& message) {
    if (!doubt_) doubt_ = complaint(mark, message);
  }

  [[noreturn]] void fail_depth(const YAML::Mark& mark) const {
    throw Error(ErrorCode::bad_input,
                fmt::format("{}:{}:{}: nests deeper than {} levels; write flatter lists and maps",
                            document_.name, mark.line + 1, mark.column + 1, kMostLevels));
  }

  [[noreturn]] void fail(const YAML::Mark& mark, const std::string& message) const {
    throw Error(complaint(mark, message));
  }

  // Names the innermost open list or map.
  Error complaint(const YAML::Mark& mark, const std::string& message) const {
    std::string path;
    for (std::size_t i = 0; i + 1 < open_.size(); ++i) {
      path = open_[i].is_map ? path_of_key(path, document_.items[open_[i].key].text)
                             : path_of_item(path, open_[i].children - 1);
    }
    if (!path.empty()) path += ": ";
    return Error(ErrorCode::bad_input, fmt::format("{}:{}:{}: {}{}", document_.name, mark.line + 1,
                                                   mark.column + 1, path, message));
  }

  YamlDocument document_;
  std::optional<Error> doubt_;
  bool merges_, started_ = false;
  std::size_t values_ = 0;
  std::vector<Open> open_;
  std::unordered_map<YAML::anchor_t, Anchored> anchors_;
};

// yaml-cpp's words, except where they would puzzle: an open quote runs into the end we appended.
std::string explain(const YAML::Exception& error) {
  if (error.msg == YAML::ErrorMsg::DOC_IN_SCALAR) return "a quoted text is not closed before here";
  return "not YAML: " + shown(error.msg);
}

}  // namespace

YamlDocument parse_yaml(const std::string& text, const std::string& name, bool merges) {
  std::istringstream stream(prepare_yaml_text(text, name));
  DocumentBuilder builder(name, merges);
  try {
    YAML::Parser parser(stream);
    // The second call finds nothing, or a second document, which the builder refuses.
    if (parser.HandleNextDocument(builder)) parser.HandleNextDocument(builder);
  } catch (const YAML::Exception& error) {
    const YAML::Mark& mark = error.mark;
    const std::string place =
        mark.is_null() ? name : fmt::format("{}:{}:{}", name, mark.line + 1, mark.column + 1);
    throw Error(ErrorCode::bad_input, fmt::format("{}: {}", place, explain(error)));
  }
  return std::move(builder).take();
}

}  // namespace refit::detail
