#include "topology/import/slurm_topology.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/yaml.h"
#include "topology/import/detail/host_list.h"
#include "topology/import/detail/text_lines.h"
#include "topology/import/detail/tree_builder.h"

namespace refit {
namespace {

using detail::HostLists;

constexpr std::size_t kMostBytes = std::size_t{16} << 20;

[[noreturn]] void fail(const std::string& where, const std::string& what) {
  throw Error(ErrorCode::bad_input, where + ": " + what);
}

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
std::vector<std::string> read_hosts(const YamlNode& node, HostLists& lists) {
  std::vector<std::string> hosts;
  const auto add = [&](const YamlNode& item) {
    for (std::string& host : lists.expand(item.text(), item.where()))
      hosts.push_back(std::move(host));
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
  detail::TreeBuilder tree(name);
  HostLists lists;
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
    for (const std::string_view word : detail::line_words(line)) {
      const std::size_t is = word.find('=');
      if (is == std::string_view::npos || is + 1 == word.size())
        fail(where, "expected KEY=VALUE, as in SwitchName=leaf1 Nodes=node[1-18]");
      const std::string_view key = word.substr(0, is), value = word.substr(is + 1);
      if (equals(key, "SwitchName"))
        switch_name = value;
      else if (equals(key, "BlockName"))
        block_name = value;
      else if (equals(key, "Switches"))
        children = lists.expand(value, where);
      else if (equals(key, "Nodes"))
        nodes = lists.expand(value, where);
      else if (equals(key, "BlockSizes"))
        tree.set_sizes(read_sizes(value, where));
      else if (!equals(key, "LinkSpeed"))
        fail(where, "expected SwitchName, Switches, Nodes, LinkSpeed, BlockName or BlockSizes");
    }
    if (!switch_name.empty())
      tree.add_switch(switch_name, std::move(children), std::move(nodes), where);
    else if (!block_name.empty())
      tree.add_block(block_name, block_name, std::move(nodes), where);
    else if (!children.empty() || !nodes.empty())
      fail(where, "Nodes and Switches belong to a SwitchName or BlockName in the same line");
  }
  return tree.finish();
}

SwitchTree read_slurm_yaml(const std::string& text, const std::string& name) {
  const YamlNode root = YamlNode::parse_text(text, name);
  detail::TreeBuilder tree(name);
  HostLists lists;
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
      if (const auto v = item.find("children")) children = read_hosts(*v, lists);
      if (const auto v = item.find("nodes")) nodes = read_hosts(*v, lists);
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
      if (const auto v = item.find("nodes")) nodes = read_hosts(*v, lists);
      if (!nodes.empty()) tree.add_block(called, called, std::move(nodes), item.where());
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
  detail::TreeBuilder tree(name);
  HostLists lists;
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
      std::vector<std::string> nodes = read_hosts(item.at("nodes"), lists);
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
        tree.add_block(fmt::format("block {}", number), domain, std::move(nodes), item.where());
      }
      ++number;
    }
  }
  if (const auto switches = root.find("switches")) {
    for (const auto& [called, item] : switches->entries()) {
      std::vector<std::string> children, nodes;
      if (const auto v = item.find("switches")) children = read_hosts(*v, lists);
      if (const auto v = item.find("nodes")) nodes = read_hosts(*v, lists);
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
    result.shape.assumed.domains.push_back(
        "blocks name no accelerator domain, so NVLink domains are not known");
  return result;
}

}  // namespace refit
