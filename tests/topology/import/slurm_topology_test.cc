#include "topology/import/slurm_topology.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "topology/import/detail/host_list.h"

using namespace refit;

namespace {

std::vector<int> sizes(const SwitchTree& tree) {
  std::vector<int> result;
  for (const FabricShape::Block& block : tree.shape.blocks) result.push_back(block.nodes);
  return result;
}

std::vector<std::string> expand(const std::string& list, const std::string& where) {
  return detail::HostLists().expand(list, where);
}

}  // namespace

TEST_CASE("host lists: ranges, zeros in front, several brackets", "[import]") {
  REQUIRE(expand("srv[08-10,2],b", "x") ==
          std::vector<std::string>{"srv08", "srv09", "srv10", "srv2", "b"});
  REQUIRE(expand("r[1-2]n[1-2]", "x") == std::vector<std::string>{"r1n1", "r1n2", "r2n1", "r2n2"});
  REQUIRE_THROWS_WITH(expand("a[1-2", "t:3"),
                      "t:3: '[' without ']'; a list of nodes looks like srv[1-3,7]");
  REQUIRE_THROWS_WITH(expand("a[3-1]", "t:3"), Catch::Contains("a range runs from 3 down to 1"));
  REQUIRE_THROWS_WITH(expand("a[1-999999999]", "t"), Catch::Contains("more than 250000 nodes"));
  REQUIRE_THROWS_WITH(expand("a[1-9999]b[1-9999]", "t"), Catch::Contains("more than 250000"));
  REQUIRE(expand("a[1][2][3][4][5][6][7][8]", "t").front() == "a12345678");
  REQUIRE_THROWS_WITH(expand("a[1][2][3][4][5][6][7][8][9]", "t"),
                      Catch::Contains("t: more than 8 brackets in one name"));
}

TEST_CASE("host lists: a name is as long as all its parts", "[import]") {
  // Each part was measured alone, so that a line of a few brackets made a million names of any
  // length.
  const std::string part(100, 'a');
  REQUIRE(expand(part + "[1]" + part + "[2]", "t").front() == part + "1" + part + "2");
  REQUIRE_THROWS_WITH(
      expand(part + "[1]" + part + "[2]" + part, "t:1"),
      "t:1: a name is longer than 255 bytes; a list of nodes looks like srv[1-3,7]");
}

TEST_CASE("host lists: names are counted over all lists of a file", "[import]") {
  // Each list alone was counted, so that a file of many short lines took any memory.
  const std::string most = "a[1-125000],b[1-124999]";
  detail::HostLists lists;
  REQUIRE(lists.expand(most, "t").size() == 249'999);
  REQUIRE(lists.expand("c", "t").size() == 1);
  REQUIRE_THROWS_WITH(lists.expand("d", "t:2"), Catch::Contains("t:2: more than 250000 nodes"));

  const auto line = [](int n, const std::string& key) {
    return fmt::format("{}s{} Nodes=n{}x[1-100000]\n", key, n, n);
  };
  REQUIRE_THROWS_WITH(
      read_slurm_conf(line(1, "SwitchName=") + line(2, "BlockName=") + line(3, "SwitchName="),
                      "t.conf"),
      Catch::Contains("t.conf:3: more than 250000 nodes"));
  const auto item = [](int n) {
    return fmt::format("      - {{switch: s{}, nodes: 'n{}x[1-100000]'}}\n", n, n);
  };
  REQUIRE_THROWS_WITH(
      read_slurm_yaml("- topology: a\n  tree:\n    switches:\n" + item(1) + item(2) + item(3),
                      "t.yaml"),
      Catch::Contains("t.yaml:6:") && Catch::Contains("more than 250000 nodes"));
}

TEST_CASE("slurm conf: a tree's leaves come in its order, not the file's", "[import]") {
  const SwitchTree tree = read_slurm_conf(
      "# top\nSwitchName=core Switches=s[1-2]\nSwitchName=s2 Nodes=b[1-3]\n"
      "SwitchName=s1 Nodes=a[1-2] LinkSpeed=100\n",
      "topology.conf");
  REQUIRE(sizes(tree) == std::vector<int>{2, 3});
  REQUIRE(tree.switches == 3);
  REQUIRE(tree.tiers == 2);
}

TEST_CASE("slurm conf: blocks are NVLink domains, and holes are said", "[import]") {
  const SwitchTree tree = read_slurm_conf(
      "BlockName=b1 Nodes=n[1-17]\nBlockName=b2 Nodes=n[21-30,32-38]\nBlockSizes=16,32\n", "t");
  REQUIRE(tree.shape.domain_nodes() == std::vector<int>{17, 17});
  REQUIRE(tree.block_sizes == std::vector<int>{16, 32});
  REQUIRE(tree.shape.notes == ImportNotes{"no switches are in it; each block counts as one leaf"});
  REQUIRE(tree.shape.assumed.domains ==
          ImportNotes{"each block of the scheduler counts as one NVLink domain"});
  REQUIRE(tree.shape.domains[0].holes == 0);
  REQUIRE(tree.shape.domains[1].holes == 1);
}

TEST_CASE("topograph: blocks on switches, domains, a rack with holes", "[import]") {
  const SwitchTree tree = read_topograph_yaml(R"(
switches:
  top: {switches: [l1, l2]}
blocks:
- {switch: l2, nodes: ["n[34-36]"], annotations: {accelerator.example/domain: d2}}
- {switch: l1, nodes: ["n[21-22]", n25], annotations: {accelerator.example/domain: d1}}
)",
                                              "m.yaml");
  REQUIRE(sizes(tree) == std::vector<int>{3, 3});
  REQUIRE(tree.leaves[0].name == "l1");
  REQUIRE(tree.shape.domain_nodes() == std::vector<int>{3, 3});
  REQUIRE(tree.shape.notes.empty());
  REQUIRE(tree.shape.domains[0].holes + tree.shape.domains[1].holes == 2);
}

TEST_CASE("slurm yaml: the default topology of several is read", "[import]") {
  const SwitchTree tree = read_slurm_yaml(R"(
- topology: other
  block: {block_sizes: [2], blocks: [{block: b, nodes: "x[1-2]"}]}
- topology: mine
  cluster_default: true
  tree:
    switches:
      - {switch: root, children: "s[1-2]"}
      - {switch: s1, nodes: "n[1-4]"}
      - {switch: s2, nodes: "n[5-8]"}
)",
                                          "topology.yaml");
  REQUIRE(sizes(tree) == std::vector<int>{4, 4});
}

TEST_CASE("slurm: a byte order mark and lines of Windows are no part of the text", "[import]") {
  const SwitchTree tree = read_slurm_conf("\xef\xbb\xbfSwitchName=a Nodes=n[1-3]\r\n", "t");
  REQUIRE(sizes(tree) == std::vector<int>{3});
}

TEST_CASE("slurm: what is wrong names its line", "[import]") {
  const auto [text, message] = GENERATE(table<std::string, std::string>({
      {"SwitchName=a Nodes=n1\nSwitchName=a Nodes=n2\n", "t:2: switch a stands twice"},
      {"SwitchName=a Nodes=n1\nSwitchName=b Nodes=n1\n",
       "t:2: node n1 hangs on two switches; the other is at t:1"},
      {"SwitchName=a Switches=b\nSwitchName=b Switches=a\n",
       "t:1: switch a hangs below itself, or below such a switch: switches name each other in a "
       "ring"},
      {"SwitchName=a Switches=c\nSwitchName=b Switches=c\nSwitchName=c Nodes=n1\n",
       "t:2: switch c hangs below two others; trees alone can be read"},
      {"hello\n", "t:1: expected KEY=VALUE, as in SwitchName=leaf1 Nodes=node[1-18]"},
      {"# nothing\n", "t: neither a switch nor a block is in it"},
  }));
  CAPTURE(text);
  REQUIRE_THROWS_WITH(read_slurm_conf(text, "t"), message);
}
