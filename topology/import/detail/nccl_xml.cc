#include "topology/import/detail/nccl_xml.h"

#include <algorithm>

#include <fmt/format.h>
#include <pugixml.hpp>

#include "base/error.h"

namespace refit::detail {
namespace {

constexpr std::size_t kMostBytes = std::size_t{16} << 20;
constexpr int kDeepest = 64;

pugi::xml_node node_of(void* node) {
  return pugi::xml_node(static_cast<pugi::xml_node_struct*>(node));
}

std::size_t line_at(const std::string& text, std::ptrdiff_t offset) {
  if (offset < 0) return 1;
  const auto end = text.begin() + std::min(offset, static_cast<std::ptrdiff_t>(text.size()));
  return static_cast<std::size_t>(1 + std::count(text.begin(), end, '\n'));
}

[[noreturn]] void fail(const std::string& name, std::size_t line, const std::string& what) {
  throw Error(ErrorCode::bad_input, fmt::format("{}:{}: {}", name, line, what));
}

// Steps instead of recursion: a file may nest as deep as it is long.
void check_depth(const pugi::xml_node& root, const std::string& text, const std::string& name) {
  int depth = 0;
  for (pugi::xml_node at = root; at;) {
    if (depth > kDeepest) {
      fail(name, line_at(text, at.offset_debug()),
           fmt::format("elements stand more than {} deep in each other", kDeepest));
    }
    if (at.first_child()) {
      at = at.first_child();
      ++depth;
      continue;
    }
    while (at != root && !at.next_sibling()) {
      at = at.parent();
      --depth;
    }
    if (at == root) return;
    at = at.next_sibling();
  }
}

}  // namespace

std::string_view XmlNode::name() const { return node_of(node_).name(); }

std::string_view XmlNode::attribute(const char* key) const {
  return node_of(node_).attribute(key).value();
}

std::vector<XmlNode> XmlNode::children() const {
  std::vector<XmlNode> result;
  for (const pugi::xml_node child : node_of(node_).children()) {
    if (child.type() == pugi::node_element) result.push_back({child.internal_object(), text_});
  }
  return result;
}

XmlNode XmlNode::parent() const { return {node_of(node_).parent().internal_object(), text_}; }

std::vector<XmlNode> XmlNode::line_up() const {
  std::vector<XmlNode> line;
  for (pugi::xml_node at = node_of(node_); at.type() == pugi::node_element; at = at.parent())
    line.push_back({at.internal_object(), text_});
  return line;
}

std::size_t XmlNode::line() const { return line_at(*text_, node_of(node_).offset_debug()); }

struct NcclXml::Document {
  pugi::xml_document xml;
};

NcclXml::NcclXml(const std::string& text, const std::string& name)
    : document_(std::make_unique<Document>()), text_(text) {
  if (text.size() > kMostBytes) fail(name, 1, "larger than 16 MiB; a topology has a few KiB");
  const pugi::xml_parse_result result = document_->xml.load_buffer(
      text.data(), text.size(), pugi::parse_default, pugi::encoding_utf8);
  if (!result) {
    const char* why = result.status == pugi::status_no_document_element ? "no element is in it"
                                                                        : result.description();
    fail(name, line_at(text, result.offset), fmt::format("this is no whole XML: {}", why));
  }
  for (const pugi::xml_node root : document_->xml.children()) check_depth(root, text, name);
}

NcclXml::~NcclXml() = default;

XmlNode NcclXml::root() const { return roots().front(); }

std::vector<XmlNode> NcclXml::roots() const {
  return XmlNode(document_->xml.internal_object(), &text_).children();
}

}  // namespace refit::detail
