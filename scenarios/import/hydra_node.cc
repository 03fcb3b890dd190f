#include "scenarios/import/hydra_node.h"

#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"

namespace refit {
namespace {

using Kind = HydraNode::Kind;

// What "<<" stands for comes first, and gives way to the map's own keys; of several maps the first
// counts.
void merge_keys(const YamlNode& merged, HydraNode& node) {
  if (merged.is_list()) {
    for (const YamlNode& item : merged.items()) merge_keys(item, node);
    return;
  }
  if (!merged.is_map()) {
    throw Error(ErrorCode::bad_input,
                fmt::format("{}: '<<' must stand for a map, or a list of maps", merged.where()));
  }
  for (auto& [key, value] : hydra_node_of(merged).children) {
    if (node.child(key) == nullptr) node.children.emplace_back(key, std::move(value));
  }
}

bool is_true(const HydraNode* node) {
  return node != nullptr && (node->text == "true" || node->text == "True");
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

HydraNode* HydraNode::child(std::string_view key) {
  return const_cast<HydraNode*>(std::as_const(*this).child(key));
}

void HydraNode::remove(std::string_view key) {
  std::erase_if(children, [&](const HydraChild& child) { return child.key == key; });
}

HydraNode hydra_node_of(const YamlNode& yaml) {
  HydraNode node;
  node.where = yaml.where();
  if (yaml.is_scalar()) {
    node.kind = Kind::scalar;
    node.text = yaml.text();
  } else if (yaml.is_list()) {
    node.kind = Kind::list;
    for (const YamlNode& item : yaml.items()) node.children.push_back({"", hydra_node_of(item)});
  } else if (yaml.is_map()) {
    node.kind = Kind::map;
    for (const auto& [key, value] : yaml.entries()) {
      if (key == "<<") merge_keys(value, node);
    }
    for (const auto& [key, value] : yaml.entries()) {
      if (key == "<<") continue;
      HydraNode* there = node.child(key);
      if (there != nullptr)
        *there = hydra_node_of(value);
      else
        node.children.push_back({key, hydra_node_of(value)});
    }
  }
  return node;
}

void merge_hydra(HydraNode& base, HydraNode child) {
  const bool replaces = is_true(child.child("_override_"));
  if (replaces) child.remove("_override_");
  if (base.kind != Kind::map || child.kind != Kind::map || replaces) {
    base = std::move(child);
    return;
  }
  for (auto& [key, value] : child.children) {
    if (HydraNode* there = base.child(key)) {
      merge_hydra(*there, std::move(value));
    } else {
      base.children.push_back({key, std::move(value)});
    }
  }
}

}  // namespace refit
