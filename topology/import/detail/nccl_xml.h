#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace refit::detail {

// XML as a tree of elements; pugixml shows nowhere else.
class XmlNode {
 public:
  std::string_view name() const;
  std::string_view attribute(const char* key) const;  // empty if there is none
  std::vector<XmlNode> children() const;              // elements only
  XmlNode parent() const;
  // The element, what it is in, and so on up to the root.
  std::vector<XmlNode> line_up() const;
  std::size_t line() const;  // in the text, from 1

  friend bool operator==(const XmlNode& a, const XmlNode& b) { return a.node_ == b.node_; }

 private:
  friend class NcclXml;
  XmlNode(void* node, const std::string* text) : node_(node), text_(text) {}
  void* node_;  // pugi::xml_node_struct
  const std::string* text_;
};

// A text as XML. Error(bad_input) if it is none, larger than 16 MiB or deeper than 64 elements.
class NcclXml {
 public:
  NcclXml(const std::string& text, const std::string& name);
  ~NcclXml();
  XmlNode root() const;
  std::vector<XmlNode> roots() const;  // more than one where texts were joined

 private:
  struct Document;
  std::unique_ptr<Document> document_;
  const std::string& text_;
};

}  // namespace refit::detail
