#include "topology/import/ibnetdiscover.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

using namespace refit;

namespace {

std::string host_port(int port, int id, const std::string& name) {
  return fmt::format("[{}]\t\"H-{:04}\"[1](0) \t\t# \"{}\" lid 1 4xNDR\n", port, id, name);
}
std::string up_port(int port, int spine) {
  return fmt::format("[{}]\t\"S-{:04}\"[1]\t\t# \"SW\" lid 1 4xNDR\n", port, spine);
}

// Two blocks of three nodes with two rails, two spines; the second block has fewer uplinks on its
// second leaf, and nameless adapters.
std::string small_fabric() {
  std::string text = "#\n# Topology file\n#\n";
  int id = 0;
  for (int block = 0; block < 2; ++block) {
    for (int rail = 0; rail < 2; ++rail) {
      text += fmt::format(
          "vendid=0x2c9\nswitchguid=0x1(1)\nSwitch\t65 \"S-1{}{}\"\t\t# \"LEAF\" base\n", block,
          rail);
      for (int node = 0; node < 3; ++node) {
        const bool nameless = block == 1 && node == 2;
        text += host_port(node + 1, id++,
                          nameless ? "MT4129 ConnectX7   Mellanox Technologies"
                                   : fmt::format("n{}{} HCA-{}", block, node, rail + 1));
      }
      for (int up = 0; up < (block == 1 && rail == 1 ? 2 : 3); ++up)
        text += up_port(30 + up, up % 2);
      text += host_port(65, 900 + 2 * block + rail, "Mellanox Technologies Aggregation Node");
      text += "\n";
    }
  }
  for (int spine = 0; spine < 2; ++spine)
    text += fmt::format("Switch\t65 \"S-{:04}\"\t\t# \"SPINE\" base\n\n", spine);
  return text;
}

}  // namespace

TEST_CASE("ibnetdiscover: leaves, rails, uneven uplinks and aggregation nodes", "[import]") {
  const IbFabric fabric = read_ibnetdiscover(small_fabric(), "ib.out");
  REQUIRE(fabric.switches == 6);
  REQUIRE(fabric.leaves == 4);
  REQUIRE(fabric.spines == 2);
  REQUIRE(fabric.channel_adapters == 16);  // 2 blocks x 2 rails x 3 nodes, and 4 of aggregation
  REQUIRE(fabric.aggregation_nodes == 4);
  REQUIRE(fabric.cables == 11);
  REQUIRE(fabric.fewest_uplinks == 2);
  REQUIRE(fabric.most_uplinks == 3);
  REQUIRE(fabric.shape.rail_optimized);
  REQUIRE(fabric.shape.nic_bytes_per_s == 50e9);  // 4 lanes of 100 Gbit/s
  REQUIRE(fabric.shape.blocks.size() == 2);
  REQUIRE(fabric.shape.blocks[0].nodes == 3);
  REQUIRE(fabric.shape.blocks[1].trunk_bytes_per_s == std::vector<double>{150e9, 100e9});
}

TEST_CASE("ibnetdiscover: machines that share a name do not join leaves", "[import]") {
  std::string text;
  for (int leaf = 0; leaf < 2; ++leaf) {
    text += fmt::format("Switch 65 \"S-{}\" # \"L\" x\n", leaf);
    for (int node = 0; node < 4; ++node)
      text += host_port(node + 1, 10 * leaf + node, fmt::format("h{}{} mlx5_0", leaf, node));
    text += host_port(9, 10 * leaf + 9, "localhost mlx5_0");
  }
  const IbFabric fabric = read_ibnetdiscover(text, "ib");
  REQUIRE_FALSE(fabric.shape.rail_optimized);
  REQUIRE(fabric.shape.blocks.size() == 2);
}

TEST_CASE("ibnetdiscover: a text that was cut says so", "[import]") {
  const std::string leaf = "Switch 65 \"S-1\" # \"L\" x\n" + host_port(1, 1, "n1 mlx5_0");
  const std::string spine =
      "Switch 65 \"S-0002\" # \"SPINE\" x\n[7]\t\"S-1\"[2]\t# \"L\" lid 1 4xNDR\n";
  const std::string adapter = "Ca\t1 \"H-0001\"\t# \"n1 mlx5_0\"\n";
  const auto notes = [](const std::string& text) {
    return read_ibnetdiscover(text, "ib").shape.notes;
  };
  const std::string up = "[2]\t\"S-0002\"[7]\t# \"SPINE\" lid 1 4xNDR\n";
  REQUIRE(notes(leaf + up + spine + adapter).empty());
  // Without the line of the leaf its trunk would be 0, and nobody would know.
  REQUIRE(
      notes(leaf + spine + adapter) ==
      ImportNotes{"1 cable stands at one end only: the file is cut or changed by hand, so trunks "
                  "may carry more than is said"});
  REQUIRE(
      notes(leaf + up) ==
      ImportNotes{"1 switch is named and not described: the file is cut or a part, so hosts and "
                  "cables may be missing",
                  "no adapter is described (Ca): the file is cut or a part, so hosts may be "
                  "missing"});
  REQUIRE(notes(leaf + up + spine.substr(0, 37) + "\n" + adapter).front() ==
          "1 line has no end, first line 5; the file was cut");
}

TEST_CASE("ibnetdiscover: what no fabric can have is refused", "[import]") {
  const std::string leaf = "Switch 65 \"S-1\" # \"L\" x\n" + host_port(1, 1, "n1 mlx5_0");
  REQUIRE_THROWS_WITH(read_ibnetdiscover(leaf + "[2]\t\"S-1\"[2]\t# \"L\" lid 1 4xNDR\n", "ib"),
                      "ib:3: port 2 is joined to its own switch; no fabric has such a cable");
  REQUIRE_THROWS_WITH(read_ibnetdiscover(leaf + host_port(1, 2, "n2 mlx5_0"), "ib"),
                      "ib:3: port 1 stands twice in this switch; keep one");
  REQUIRE_THROWS_WITH(read_ibnetdiscover(leaf + leaf, "ib"),
                      "ib:3: switch S-1 stands twice; keep one capture");
}

TEST_CASE("ibnetdiscover: leaves that share hosts in a long chain are no rails", "[import]") {
  // Leaf l has hosts l and l + 1; every block got a trunk for each leaf of the longest chain.
  const auto chain = [](int leaves) {
    std::string text;
    for (int leaf = 0; leaf < leaves; ++leaf) {
      text += fmt::format("Switch 65 \"S-1{}\" # \"L\" x\n", leaf);
      for (const int host : {leaf, leaf + 1})
        text += host_port(1 + host - leaf, 2 * leaf + host, fmt::format("h{} mlx5_0", host));
    }
    return read_ibnetdiscover(text, "ib");
  };
  REQUIRE(chain(64).shape.blocks.size() == 1);
  REQUIRE_THROWS_WITH(chain(65),
                      "ib: 65 leaves hang together by hosts that are on several of them; a block "
                      "of nodes has at most 64 rails");
}

TEST_CASE("ibnetdiscover: what has no fabric in it is refused", "[import]") {
  REQUIRE_THROWS_WITH(read_ibnetdiscover("caguid=0x1\nCa\t1 \"H-1\"\t\t# \"x HCA-1\"\n", "ib"),
                      "ib: no switch is in it, only 1 adapter: there is no fabric to read; run "
                      "ibnetdiscover on a host whose port is up");
  REQUIRE_THROWS_WITH(read_ibnetdiscover("hello\n", "ib"),
                      "ib: no line of Switch or Ca is in it; expected the output of ibnetdiscover");
  REQUIRE_THROWS_WITH(read_ibnetdiscover("Switch 65 \"S-1\" # \"L\" x\n", "ib"),
                      "ib: no host hangs on any of its switches");
}
