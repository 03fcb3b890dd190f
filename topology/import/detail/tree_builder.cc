#include "topology/import/detail/tree_builder.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "base/error.h"
#include "base/shown.h"

namespace refit::detail {
namespace {

constexpr std::size_t kMostSwitches = 100'000;

[[noreturn]] void fail(const std::string& where, const std::string& what) {
  throw Error(ErrorCode::bad_input, where + ": " + what);
}

// Numbers left out between the least and the greatest of a block ("I21 I22 I25": two).
int holes_in(const std::vector<std::string>& nodes) {
  std::map<std::string, std::vector<long>> numbers;
  for (const std::string& node : nodes) {
    std::size_t digits = node.size();
    while (digits > 0 && node[digits - 1] >= '0' && node[digits - 1] <= '9') --digits;
    long value = 0;
    const auto [end, error] =
        std::from_chars(node.data() + digits, node.data() + node.size(), value);
    if (error == std::errc{} && end == node.data() + node.size())
      numbers[node.substr(0, digits)].push_back(value);
  }
  std::size_t holes = 0;
  for (auto& [prefix, values] : numbers) {
    const auto [least, greatest] = std::minmax_element(values.begin(), values.end());
    const auto span = static_cast<std::size_t>(*greatest - *least) + 1;
    // Far apart they are no run with holes.
    if (span > values.size() && span <= 2 * values.size()) holes += span - values.size();
  }
  return static_cast<int>(holes);
}

std::string sizes(const std::vector<SwitchTree::Group>& groups) {
  const auto [least, most] = std::minmax_element(
      groups.begin(), groups.end(),
      [](const auto& a, const auto& b) { return a.nodes.size() < b.nodes.size(); });
  if (least->nodes.size() == most->nodes.size())
    return fmt::format("{} nodes", least->nodes.size());
  return fmt::format("{} to {} nodes", least->nodes.size(), most->nodes.size());
}

}  // namespace

void TreeBuilder::add_switch(const std::string& name, std::vector<std::string> children,
                             std::vector<std::string> nodes, const std::string& where) {
  if (number_.size() == kMostSwitches) fail(where, "more than 100,000 switches");
  if (!number_.emplace(name, switches_.size()).second)
    fail(where, fmt::format("switch {} stands twice", shown(name)));
  switches_.push_back({name, std::move(children), std::move(nodes), where});
}

void TreeBuilder::add_block(const std::string& name, const std::string& domain,
                            std::vector<std::string> nodes, const std::string& where) {
  if (nodes.empty()) return;
  const auto [known, is_new] = block_number_.emplace(domain, tree_.blocks.size());
  if (!is_new) {
    std::vector<std::string>& all = tree_.blocks[known->second].nodes;
    all.insert(all.end(), nodes.begin(), nodes.end());
    return;
  }
  if (tree_.blocks.size() == kMostSwitches) fail(where, "more than 100,000 blocks");
  tree_.blocks.push_back({name, domain, std::move(nodes), where});
}

SwitchTree TreeBuilder::finish() {
  if (switches_.empty() && tree_.blocks.empty())
    fail(name_, "neither a switch nor a block is in it");
  walk();
  if (tree_.leaves.empty() && tree_.blocks.empty())
    fail(name_, "no node hangs on any of its switches");
  tree_.switches = static_cast<int>(switches_.size());
  check_nodes();
  make_shape();
  return std::move(tree_);
}

// Depth first from the switches that nobody names, so that neighbours stay neighbours.
void TreeBuilder::walk() {
  std::vector<bool> is_child(switches_.size(), false);
  for (const Written& one : switches_) {
    for (const std::string& child : one.children) {
      const auto found = number_.find(child);
      if (found == number_.end()) {
        ++undefined_;
      } else if (is_child[found->second]) {
        fail(one.where, fmt::format("switch {} hangs below two others; trees alone can be read",
                                    shown(child)));
      } else {
        is_child[found->second] = true;
      }
    }
  }
  std::vector<std::pair<std::size_t, int>> open;
  for (std::size_t i = switches_.size(); i-- > 0;) {
    if (!is_child[i]) open.emplace_back(i, 1);
  }
  std::vector<bool> seen(switches_.size(), false);
  while (!open.empty()) {
    const auto [i, tier] = open.back();
    open.pop_back();
    seen[i] = true;
    Written& one = switches_[i];
    if (!one.nodes.empty()) {
      tree_.tiers = std::max(tree_.tiers, tier);
      tree_.leaves.push_back({one.name, {}, std::move(one.nodes), one.where});
    }
    for (auto child = one.children.rbegin(); child != one.children.rend(); ++child) {
      const auto found = number_.find(*child);
      if (found != number_.end()) open.emplace_back(found->second, tier + 1);
    }
  }
  const auto unseen = std::find(seen.begin(), seen.end(), false);
  if (unseen != seen.end()) {
    const Written& one = switches_[static_cast<std::size_t>(unseen - seen.begin())];
    fail(one.where, fmt::format("switch {} hangs below itself, or below such a switch: switches "
                                "name each other in a ring",
                                shown(one.name)));
  }
  if (undefined_ > 0)
    tree_.shape.notes.push_back(
        fmt::format("{} switch{} named as a child and not described; left out", undefined_,
                    undefined_ == 1 ? " is" : "es are"));
}

void TreeBuilder::check_nodes() const {
  for (const auto* groups : {&tree_.leaves, &tree_.blocks}) {
    std::map<std::string_view, const SwitchTree::Group*> seen;
    for (const SwitchTree::Group& group : *groups) {
      for (const std::string& node : group.nodes) {
        const auto [first, is_new] = seen.emplace(node, &group);
        if (is_new) continue;
        fail(group.where,
             fmt::format("node {} {}; the other is at {}", shown(node),
                         groups == &tree_.leaves ? "hangs on two switches" : "is in two blocks",
                         first->second->where));
      }
    }
  }
}

void TreeBuilder::make_shape() {
  FabricShape& shape = tree_.shape;
  for (const SwitchTree::Group& leaf : tree_.leaves)
    shape.blocks.push_back({static_cast<int>(leaf.nodes.size()), {}, {}});
  if (tree_.leaves.empty()) {
    for (const SwitchTree::Group& block : tree_.blocks)
      shape.blocks.push_back({static_cast<int>(block.nodes.size()), {}, {}});
    shape.notes.push_back("no switches are in it; each block counts as one leaf");
  }
  if (!tree_.blocks.empty()) add_domains();
  if (!tree_.block_sizes.empty())
    shape.assumed.domains.push_back("each block of the scheduler counts as one NVLink domain");
  shape.facts.push_back(words());
}

// Blocks in the order of the leaves' nodes.
void TreeBuilder::add_domains() {
  FabricShape& shape = tree_.shape;
  if (tree_.leaves.empty()) {
    for (const SwitchTree::Group& block : tree_.blocks)
      shape.domains.push_back({static_cast<int>(block.nodes.size()), holes_in(block.nodes), true});
    return;
  }
  std::map<std::string_view, std::size_t> block_of;
  for (std::size_t b = 0; b < tree_.blocks.size(); ++b) {
    for (const std::string& node : tree_.blocks[b].nodes) block_of[node] = b;
  }
  const std::size_t none = tree_.blocks.size();
  std::size_t last = none;
  std::set<std::size_t> closed;
  for (const SwitchTree::Group& leaf : tree_.leaves) {
    for (const std::string& node : leaf.nodes) {
      const auto found = block_of.find(node);
      const std::size_t block = found == block_of.end() ? none : found->second;
      if (block != last || block == none) {
        if (block != none && !closed.insert(block).second) {
          shape.domains.clear();
          shape.assumed.domains.push_back(
              "blocks are spread over leaves with others between them, so NVLink domains, which "
              "are runs of nodes here, are not known");
          return;
        }
        shape.domains.push_back(block == none
                                    ? FabricShape::Domain{0, 0, false}
                                    : FabricShape::Domain{0, holes_in(tree_.blocks[block].nodes)});
        last = block;
      }
      ++shape.domains.back().nodes;
    }
  }
}

std::string TreeBuilder::words() const {
  std::string text = fmt::format("scheduler: {} nodes", tree_.shape.nodes());
  if (!tree_.leaves.empty()) {
    text +=
        fmt::format(" on {} leaves of {}, {} switches in {} tier{}", tree_.leaves.size(),
                    sizes(tree_.leaves), tree_.switches, tree_.tiers, tree_.tiers == 1 ? "" : "s");
  }
  if (!tree_.blocks.empty()) {
    text += fmt::format("{} {} blocks of {}", tree_.leaves.empty() ? " in" : ",",
                        tree_.blocks.size(), sizes(tree_.blocks));
  }
  return text;
}

}  // namespace refit::detail
