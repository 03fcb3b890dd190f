#include "topology/import/slurm_topology.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/yaml.h"
#include "topology/import/detail/host_list.h"
#include "topology/import/detail/text_lines.h"

namespace refit {
namespace {

using detail::expand_hosts;

constexpr std::size_t kMostBytes = std::size_t{16} << 20;
constexpr std::size_t kMostSwitches = 100'000;

[[noreturn]] void fail(const std::string& where, const std::string& what) {
  throw Error(ErrorCode::bad_input, where + ": " + what);
}

// What either form says, before it is put in order.
class TreeBuilder {
 public:
  explicit TreeBuilder(const std::string& name) : name_(name) {}

  void add_switch(const std::string& name, std::vector<std::string> children,
                  std::vector<std::string> nodes, const std::string& where) {
    if (number_.size() == kMostSwitches) fail(where, "more than 100,000 switches");
    if (!number_.emplace(name, switches_.size()).second) fail(where, "a switch stands twice");
    switches_.push_back({name, std::move(children), std::move(nodes), where});
  }

  void add_block(const std::string& name, const std::string& domain,
                 std::vector<std::string> nodes) {
    const auto [known, is_new] = block_number_.emplace(domain, tree_.blocks.size());
    if (!is_new) {
      std::vector<std::string>& all = tree_.blocks[known->second].nodes;
      all.insert(all.end(), nodes.begin(), nodes.end());
      return;
    }
    if (tree_.blocks.size() == kMostSwitches) fail(name_, "more than 100,000 blocks");
    tree_.blocks.push_back({name, domain, std::move(nodes)});
  }

  void set_sizes(std::vector<int> sizes) { tree_.block_sizes = std::move(sizes); }

  SwitchTree finish() {
    if (switches_.empty() && tree_.blocks.empty())
      fail(name_, "neither a switch nor a block is in it");
    walk();
    tree_.switches = static_cast<int>(switches_.size());
    check_nodes();
    make_shape();
    return std::move(tree_);
  }

 private:
  struct Written {
    std::string name;
    std::vector<std::string> children;
    std::vector<std::string> nodes;
    std::string where;
  };

  // Depth first from the switches that nobody names, so that neighbours stay neighbours.
  void walk() {
    std::vector<bool> is_child(switches_.size(), false), done(switches_.size(), false);
    for (const Written& one : switches_) {
      for (const std::string& child : one.children) {
        const auto found = number_.find(child);
        if (found == number_.end()) {
          ++undefined_;
        } else if (is_child[found->second]) {
          fail(one.where, "a switch hangs below two others; trees alone can be read");
        } else {
          is_child[found->second] = true;
        }
      }
    }
    std::vector<std::pair<std::size_t, int>> open;
    for (std::size_t i = switches_.size(); i-- > 0;) {
      if (!is_child[i]) open.emplace_back(i, 1);
    }
    std::size_t seen = 0;
    while (!open.empty()) {
      const auto [i, tier] = open.back();
      open.pop_back();
      ++seen;
      const Written& one = switches_[i];
      if (!one.nodes.empty()) {
        tree_.tiers = std::max(tree_.tiers, tier);
        tree_.leaves.push_back({one.name, {}, one.nodes});
      }
      for (auto child = one.children.rbegin(); child != one.children.rend(); ++child) {
        const auto found = number_.find(*child);
        if (found != number_.end()) open.emplace_back(found->second, tier + 1);
      }
    }
    if (seen < switches_.size()) fail(name_, "switches name each other in a ring");
    if (undefined_ > 0)
      tree_.shape.notes.push_back(
          fmt::format("{} switch{} named as a child and not described; left out", undefined_,
                      undefined_ == 1 ? " is" : "es are"));
  }

  void check_nodes() const {
    for (const auto* groups : {&tree_.leaves, &tree_.blocks}) {
      std::set<std::string_view> seen;
      for (const SwitchTree::Group& group : *groups) {
        for (const std::string& node : group.nodes) {
          if (!seen.insert(node).second)
            fail(name_, groups == &tree_.leaves ? "a node hangs on two switches"
                                                : "a node is in two blocks");
        }
      }
    }
  }

  void make_shape() {
    FabricShape& shape = tree_.shape;
    for (const SwitchTree::Group& leaf : tree_.leaves)
      shape.blocks.push_back({static_cast<int>(leaf.nodes.size()), {}});
    if (tree_.leaves.empty()) {
      for (const SwitchTree::Group& block : tree_.blocks)
        shape.blocks.push_back({static_cast<int>(block.nodes.size()), {}});
      shape.notes.push_back("no switches are in it; each block counts as one leaf");
    }
    if (!tree_.blocks.empty()) add_domains();
    std::size_t holes = 0;
    for (const SwitchTree::Group& block : tree_.blocks) holes += holes_in(block.nodes);
    if (holes > 0)
      shape.notes.push_back(fmt::format(
          "the numbers of nodes have {} hole{}: those are not there, and domains are that smaller",
          holes, holes == 1 ? "" : "s"));
    if (!tree_.block_sizes.empty())
      shape.notes.push_back("each block of the scheduler counts as one NVLink domain");
    shape.facts.push_back(words());
  }

  // Blocks in the order of the leaves' nodes.
  void add_domains() {
    FabricShape& shape = tree_.shape;
    if (tree_.leaves.empty()) {
      for (const SwitchTree::Group& block : tree_.blocks)
        shape.domain_nodes.push_back(static_cast<int>(block.nodes.size()));
      return;
    }
    std::map<std::string_view, std::size_t> block_of;
    for (std::size_t b = 0; b < tree_.blocks.size(); ++b) {
      for (const std::string& node : tree_.blocks[b].nodes) block_of[node] = b;
    }
    const std::size_t none = tree_.blocks.size();
    std::size_t last = none, missing = 0;
    std::set<std::size_t> closed;
    for (const SwitchTree::Group& leaf : tree_.leaves) {
      for (const std::string& node : leaf.nodes) {
        const auto found = block_of.find(node);
        const std::size_t block = found == block_of.end() ? none : found->second;
        if (block == none) ++missing;
        if (block != last || block == none) {
          if (block != none && !closed.insert(block).second)
            fail(name_, "the nodes of a block are spread over leaves with others between them");
          shape.domain_nodes.push_back(0);
          last = block;
        }
        ++shape.domain_nodes.back();
      }
    }
    if (missing > 0)
      shape.notes.push_back(
          fmt::format("{} nodes are in no block; each is a domain of its own", missing));
  }

  // Numbers left out between the least and the greatest of a block ("I21 I22 I25": two).
  static std::size_t holes_in(const std::vector<std::string>& nodes) {
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
    return holes;
  }

  std::string words() const {
    std::string text = fmt::format("scheduler: {} nodes", tree_.shape.nodes());
    if (!tree_.leaves.empty()) {
      text += fmt::format(" on {} leaves of {}, {} switches in {} tier{}", tree_.leaves.size(),
                          sizes(tree_.leaves), tree_.switches, tree_.tiers,
                          tree_.tiers == 1 ? "" : "s");
    }
    if (!tree_.blocks.empty()) {
      text += fmt::format("{} {} blocks of {}", tree_.leaves.empty() ? " in" : ",",
                          tree_.blocks.size(), sizes(tree_.blocks));
    }
    return text;
  }

  static std::string sizes(const std::vector<SwitchTree::Group>& groups) {
    const auto [least, most] = std::minmax_element(
        groups.begin(), groups.end(),
        [](const auto& a, const auto& b) { return a.nodes.size() < b.nodes.size(); });
    if (least->nodes.size() == most->nodes.size())
      return fmt::format("{} nodes", least->nodes.size());
    return fmt::format("{} to {} nodes", least->nodes.size(), most->nodes.size());
  }

  const std::string& name_;
  std::vector<Written> switches_;
  std::map<std::string, std::size_t> number_;
  std::map<std::string, std::size_t> block_number_;  // by domain
  std::size_t undefined_ = 0;
  SwitchTree tree_;
};

std::vector<int> read_sizes(std::string_view text, const std::string& where) {
  std::vector<int> sizes;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    int value = 0;
    const auto [stop, error] = std::from_chars(text.data() + at, text.data() + end, value);
    if (error != std::errc{} || stop != text.data() + end || value < 1)
      fail(where, "BlockSizes is a list of numbers like 18,36");
    sizes.push_back(value);
    at = end + 1;
  }
  return sizes;
}

bool equals(std::string_view word, std::string_view key) {
  return word.size() == key.size() &&
         std::equal(word.begin(), word.end(), key.begin(), [](char a, char b) {
           return (a >= 'A' && a <= 'Z' ? a + 32 : a) == (b >= 'A' && b <= 'Z' ? b + 32 : b);
         });
}

// A name list as YAML writes it: text, or a list of texts.
std::vector<std::string> read_hosts(const YamlNode& node) {
  std::vector<std::string> hosts;
  const auto add = [&](const YamlNode& item) {
    for (std::string& host : expand_hosts(item.text(), item.where()))
      hosts.push_back(std::move(host));
    if (hosts.size() > detail::kMostHosts) item.fail("more than 1,000,000 nodes");
  };
  if (!node.is_list()) {
    add(node);
  } else {
    for (const YamlNode& item : node.items()) add(item);
  }
  return hosts;
}

}  // namespace

SwitchTree read_slurm_conf(const std::string& text, const std::string& name) {
  if (text.size() > kMostBytes) fail(name, "larger than 16 MiB");
  TreeBuilder tree(name);
  int number = 0;
  std::string joined;  // a backslash at a line's end goes on in the next
  for (const std::string& raw : detail::clean_lines(text)) {
    ++number;
    joined += raw.substr(0, raw.find('#'));
    while (!joined.empty() && joined.back() == ' ') joined.pop_back();
    if (!joined.empty() && joined.back() == '\\') {
      joined.back() = ' ';
      continue;
    }
    const std::string line = std::exchange(joined, {});
    const std::string where = fmt::format("{}:{}", name, number);
    std::string switch_name, block_name;
    std::vector<std::string> children, nodes;
    for (const std::string_view word : detail::split_words(line)) {
      const std::size_t is = word.find('=');
      if (is == std::string_view::npos || is + 1 == word.size())
        fail(where, "expected KEY=VALUE, as in SwitchName=leaf1 Nodes=node[1-18]");
      const std::string_view key = word.substr(0, is), value = word.substr(is + 1);
      if (equals(key, "SwitchName"))
        switch_name = value;
      else if (equals(key, "BlockName"))
        block_name = value;
      else if (equals(key, "Switches"))
        children = expand_hosts(value, where);
      else if (equals(key, "Nodes"))
        nodes = expand_hosts(value, where);
      else if (equals(key, "BlockSizes"))
        tree.set_sizes(read_sizes(value, where));
      else if (!equals(key, "LinkSpeed"))
        fail(where, "expected SwitchName, Switches, Nodes, LinkSpeed, BlockName or BlockSizes");
    }
    if (!switch_name.empty())
      tree.add_switch(switch_name, std::move(children), std::move(nodes), where);
    else if (!block_name.empty())
      tree.add_block(block_name, block_name, std::move(nodes));
    else if (!children.empty() || !nodes.empty())
      fail(where, "Nodes and Switches belong to a SwitchName or BlockName in the same line");
  }
  return tree.finish();
}

SwitchTree read_slurm_yaml(const std::string& text, const std::string& name) {
  const YamlNode root = YamlNode::parse_text(text, name);
  TreeBuilder tree(name);
  std::size_t used = 0;
  const std::vector<YamlNode> topologies = root.items();
  std::string skipped;
  // The default one, or the first.
  for (std::size_t i = 0; i < topologies.size(); ++i) {
    const auto is_default = topologies[i].find("cluster_default");
    if (is_default && is_default->boolean()) used = i;
  }
  if (topologies.empty()) root.fail("no topology is in it");
  const YamlNode& one = topologies[used];
  if (const auto part = one.find("tree")) {
    for (const YamlNode& item : part->at("switches").items()) {
      std::vector<std::string> children, nodes;
      if (const auto v = item.find("children")) children = read_hosts(*v);
      if (const auto v = item.find("nodes")) nodes = read_hosts(*v);
      tree.add_switch(item.at("switch").text(), std::move(children), std::move(nodes),
                      item.where());
    }
  } else if (const auto block = one.find("block")) {
    if (const auto sizes = block->find("block_sizes")) {
      std::vector<int> list;
      for (const YamlNode& size : sizes->items())
        list.push_back(static_cast<int>(size.integer(1, detail::kMostHosts)));
      tree.set_sizes(std::move(list));
    }
    for (const YamlNode& item : block->at("blocks").items()) {
      const std::string called = item.at("block").text();
      std::vector<std::string> nodes;
      if (const auto v = item.find("nodes")) nodes = read_hosts(*v);
      if (!nodes.empty()) tree.add_block(called, called, std::move(nodes));
    }
  } else {
    one.fail("has neither 'tree' nor 'block'; a flat topology says nothing about the fabric");
  }
  SwitchTree result = tree.finish();
  if (topologies.size() > 1)
    result.shape.notes.push_back(fmt::format(
        "topology {} of {} was read: the default one, or the first", used + 1, topologies.size()));
  return result;
}

SwitchTree read_topograph_yaml(const std::string& text, const std::string& name) {
  const YamlNode root = YamlNode::parse_text(text, name);
  TreeBuilder tree(name);
  // Blocks hang on switches; a switch of theirs need not stand in `switches`.
  std::map<std::string, std::vector<std::string>> nodes_of;
  std::vector<std::pair<std::string, std::string>> in_order;  // switch, where
  std::map<std::string, std::string> domain_of_block;
  bool blocks_have_domains = false;
  const auto blocks = root.find("blocks");
  if (blocks) {
    std::size_t number = 0;
    for (const YamlNode& item : blocks->items()) {
      const std::string on = item.at("switch").text();
      std::vector<std::string> nodes = read_hosts(item.at("nodes"));
      std::string domain;
      if (const auto annotations = item.find("annotations")) {
        for (const auto& [key, value] : annotations->entries()) {
          if (key.find("accelerator") != std::string::npos ||
              key.find("nvlink") != std::string::npos)
            domain = value.text();
        }
      }
      if (!nodes_of.contains(on)) in_order.emplace_back(on, item.where());
      std::vector<std::string>& all = nodes_of[on];
      all.insert(all.end(), nodes.begin(), nodes.end());
      if (!domain.empty()) {
        blocks_have_domains = true;
        tree.add_block(fmt::format("block {}", number), domain, std::move(nodes));
      }
      ++number;
    }
  }
  if (const auto switches = root.find("switches")) {
    for (const auto& [called, item] : switches->entries()) {
      std::vector<std::string> children, nodes;
      if (const auto v = item.find("switches")) children = read_hosts(*v);
      if (const auto v = item.find("nodes")) nodes = read_hosts(*v);
      if (const auto found = nodes_of.find(called); found != nodes_of.end()) {
        nodes.insert(nodes.end(), found->second.begin(), found->second.end());
        nodes_of.erase(found);
      }
      tree.add_switch(called, std::move(children), std::move(nodes), item.where());
    }
  }
  for (const auto& [called, where] : in_order) {
    const auto found = nodes_of.find(called);
    if (found != nodes_of.end()) tree.add_switch(called, {}, found->second, where);
  }
  SwitchTree result = tree.finish();
  if (blocks && !blocks_have_domains)
    result.shape.notes.push_back(
        "blocks name no accelerator domain, so NVLink domains are not known");
  return result;
}

}  // namespace refit
