#include "topology/import/cluster_import.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/yaml.h"
#include "topology/cluster_yaml.h"
#include "topology/import/nic_choice.h"

using namespace refit;

namespace {

ImportedCluster imported(const std::vector<std::string>& texts,
                         const ClusterAnswers& answers = {}) {
  ClusterFiles files;
  for (const std::string& text : texts) add_cluster_file(text, "file", files);
  return import_cluster(files, answers);
}

ClusterAnswers all_rates() {
  ClusterAnswers answers;
  answers.nic_bytes_per_s = 50e9;
  answers.nvlink_bytes_per_s = 450e9;
  return answers;
}

std::vector<std::string> options_of(const ImportedCluster& cluster) {
  std::vector<std::string> options;
  for (const MissingAnswer& missing : cluster.missing) options.push_back(missing.option);
  return options;
}

// Its text says the same machines.
void require_round_trip(const ImportedCluster& cluster) {
  REQUIRE(cluster.missing.empty());
  const std::string text = cluster_text(cluster);
  CAPTURE(text);
  REQUIRE(read_cluster(YamlNode::parse_text(text, "out.yaml").at("cluster")) == cluster.spec);
}

std::string matrix(const std::vector<std::string>& rows, int nics) {
  std::string text = " ";
  for (std::size_t g = 0; g < rows.size(); ++g) text += fmt::format(" GPU{}", g);
  for (int n = 0; n < nics; ++n) text += fmt::format(" NIC{}", n);
  for (std::size_t g = 0; g < rows.size(); ++g) text += fmt::format("\nGPU{} {}", g, rows[g]);
  return text + "\n";
}

}  // namespace

TEST_CASE("import: what no file says is asked for by name, all at once", "[import]") {
  const ImportedCluster cluster = imported({matrix({"X NV18 PIX SYS", "NV18 X SYS PIX"}, 2)});
  REQUIRE(options_of(cluster) ==
          std::vector<std::string>{"--nvlink-bandwidth RATE", "--nic-bandwidth RATE"});
  require_round_trip(imported({matrix({"X NV18 PIX SYS", "NV18 X SYS PIX"}, 2)}, all_rates()));
}

TEST_CASE("import: only some GPUs have a near NIC, the others share one and are slower",
          "[import]") {
  const std::string text = matrix({"X NV18 NV18 NV18 PIX SYS SYS", "NV18 X NV18 NV18 SYS SYS SYS",
                                   "NV18 NV18 X NV18 SYS PIX SYS", "NV18 NV18 NV18 X SYS SYS SYS"},
                                  3);
  REQUIRE(options_of(imported({text}, all_rates())) ==
          std::vector<std::string>{"--distance SYS=RATE"});
  ClusterAnswers answers = all_rates();
  answers.distance_bytes_per_s["SYS"] = 20e9;
  const ImportedCluster cluster = imported({text}, answers);
  require_round_trip(cluster);
  const NodeGroupSpec& group = cluster.spec.groups[0];
  REQUIRE(group.nics_per_node == 2);  // NIC2 is near nobody
  REQUIRE(group.gpu_nics ==
          std::vector<GpuNics>{
              {{0}, "PIX", 50e9}, {{0}, "SYS", 20e9}, {{1}, "PIX", 50e9}, {{1}, "SYS", 20e9}});
  const Cluster built(cluster.spec);
  REQUIRE(built.nic_out(Rank(0)) == built.nic_out(Rank(1)));
  REQUIRE(built.nic_out(Rank(1)) != built.nic_out(Rank(2)));
  REQUIRE(built.link(*built.pcie_out(Rank(1))).bandwidth_bytes_per_s == 20e9);
}

TEST_CASE("import: NICs with a gap in their numbers, and storage NICs apart", "[import]") {
  const ImportedCluster cluster =
      imported({matrix({"X NV18 PIX NODE SYS", "NV18 X SYS NODE PIX"}, 3)}, all_rates());
  require_round_trip(cluster);
  REQUIRE(cluster.spec.groups[0].nics_per_node == 2);
  REQUIRE(cluster.spec.groups[0].gpu_nics.empty());  // evenly spread: nothing to write
  REQUIRE(cluster.notes ==
          ImportNotes{"NIC1 is set apart, for storage or management: no GPU has it nearest"});
}

TEST_CASE("import: GPUs that share NICs share one bundle", "[import]") {
  const ImportedCluster cluster = imported(
      {matrix(
          {"X NV1 NV1 PXB PXB SYS SYS", "NV1 X NV1 PXB PXB SYS SYS", "NV1 NV1 X SYS SYS PXB PXB"},
          4)},
      all_rates());
  require_round_trip(cluster);
  const Cluster built(cluster.spec);
  // Two of 50 GB/s for GPUs 0 and 1 together.
  REQUIRE(built.link(built.nic_out(Rank(1))).bandwidth_bytes_per_s == 100e9);
  REQUIRE(built.link(built.nic_out(Rank(1))).name == "node 0 nics 0-1 out");
  REQUIRE(built.nic_out(Rank(0)) == built.nic_out(Rank(1)));
}

TEST_CASE("import: a NIC near two GPUs goes to the one that has no other", "[import]") {
  const ImportedCluster cluster =
      imported({matrix({"X NV18 PXB PXB", "NV18 X NODE PXB"}, 2)}, all_rates());
  REQUIRE(cluster.spec.groups[0].gpu_nics.empty());
  REQUIRE(cluster.notes == ImportNotes{"GPU0 is near NIC1 too, which is left to a GPU with fewer"});
}

TEST_CASE("import: everything at SYS says nothing about who uses which NIC", "[import]") {
  const std::string text = matrix({"X NV18 SYS SYS SYS", "NV18 X SYS SYS SYS"}, 3);
  REQUIRE(options_of(imported({text}, all_rates())) ==
          std::vector<std::string>{"--nics-per-node N"});
  ClusterAnswers answers = all_rates();
  answers.nics_per_node = 2;
  require_round_trip(imported({text}, answers));
}

TEST_CASE("import: a machine that hides its switches shares NICs by CPU", "[import]") {
  const ImportedCluster cluster =
      imported({matrix({"X NV8 NV8 NV8 NODE PHB PHB SYS SYS", "NV8 X NV8 NV8 NODE PHB PHB SYS SYS",
                        "NV8 NV8 X NV8 SYS SYS SYS PHB PHB", "NV8 NV8 NV8 X SYS SYS SYS PHB PHB"},
                       5)},
               all_rates());
  require_round_trip(cluster);
  const NodeGroupSpec& group = cluster.spec.groups[0];
  REQUIRE(group.nics_per_node == 4);  // NIC0 is at NODE
  REQUIRE(group.gpu_nics[3].nics == std::vector<int>{2, 3});
}

TEST_CASE("import: a GPU without NVLink is found, named and put last", "[import]") {
  ClusterAnswers answers = all_rates();
  answers.nodes = 2;
  const ImportedCluster cluster = imported(
      {matrix({"X SYS NV4 PIX SYS SYS", "SYS X SYS SYS PIX SYS", "NV4 SYS X SYS SYS PIX"}, 3)},
      answers);
  require_round_trip(cluster);
  REQUIRE(cluster.spec.groups[0].domain_sizes == std::vector<int>{2, 1, 2, 1});
  REQUIRE(cluster.spec.groups[0].gpu_nics[1].nics == std::vector<int>{2});  // rank 1 is GPU 2
  REQUIRE(cluster.notes ==
          ImportNotes{"GPU1 has no NVLink, although others of the node have: look at the machine",
                      "domains are runs of ranks, so the ranks of a node are its GPUs 0, 2, 1"});
}

TEST_CASE("import: a PCIe view asks for the NVLink domain", "[import]") {
  const std::string text = matrix({"X NODE PIX SYS", "NODE X SYS PIX"}, 2);
  REQUIRE(options_of(imported({text}, all_rates())) ==
          std::vector<std::string>{"--nvlink-domain N"});
  ClusterAnswers answers = all_rates();
  answers.nvlink_domain_gpus = 1;
  require_round_trip(imported({text}, answers));
}

TEST_CASE("import: PCIe that is slower than the NICs behind it is a limit", "[import]") {
  const std::string text = R"(<system><cpu><pci busid="1" class="0x060400">
    <pci busid="2" class="0x030200" link_speed="8.0 GT/s PCIe" link_width="16"/>
    <pci busid="3" class="0x020700"/></pci></cpu></system>)";
  ClusterAnswers answers = all_rates();
  const ImportedCluster cluster = imported({text}, answers);
  require_round_trip(cluster);
  REQUIRE(cluster.spec.groups[0].pcie_bytes_per_s == 15.754e9);  // 8 x 16 x 128/130 / 8
  answers.nic_bytes_per_s = 12.5e9;
  REQUIRE_FALSE(imported({text}, answers).spec.groups[0].pcie_bytes_per_s);
}

TEST_CASE("import: a scheduler's racks and a catalog's node make one cluster", "[import]") {
  ClusterAnswers answers;
  answers.catalog = "gb200_nvl72";
  const ImportedCluster cluster =
      imported({"BlockName=a Nodes=n[1-18]\nBlockName=b Nodes=n[21-30,32-38]\n"}, answers);
  require_round_trip(cluster);
  REQUIRE(cluster.spec.groups[0].nodes == 35);
  REQUIRE(cluster.spec.groups[0].domain_sizes == std::vector<int>{72, 68});
  answers.nodes = 20;
  REQUIRE(imported({"BlockName=a Nodes=n[1-18]\nBlockName=b Nodes=n[21-30]\n"}, answers)
              .spec.groups[0]
              .domain_sizes == std::vector<int>{72, 8});
  answers.nodes = 40;
  REQUIRE_THROWS_WITH(
      imported({"BlockName=a Nodes=n[1-18]\n"}, answers),
      "import: --nodes: 40 are asked for, but the file about what joins them has 18");
}

TEST_CASE("import: a note about what was assumed goes where people say the thing", "[import]") {
  const std::string racks =
      "BlockName=a Nodes=n[1-18]\nBlockName=b Nodes=n[21-30,32-38]\nBlockSizes=18\n";
  const auto notes = [&](std::optional<int> domain, std::optional<int> nodes) {
    ClusterAnswers answers;
    answers.catalog = "gb200_nvl72";
    answers.nvlink_domain_gpus = domain;
    answers.nodes = nodes;
    return fmt::format("{}", fmt::join(imported({racks}, answers).notes, "; "));
  };
  using Catch::Contains;
  REQUIRE_THAT(notes({}, {}), Contains("have 1 hole:") && Contains("block of the scheduler"));
  REQUIRE_THAT(notes({}, 18), !Contains("hole") && Contains("block of the scheduler"));
  REQUIRE_THAT(notes(4, {}), !Contains("hole") && !Contains("block of the scheduler"));
}

TEST_CASE("import: NICs of several speeds count with the slowest, and are counted in a note",
          "[import]") {
  const auto node = [](const char* more) {
    return fmt::format(R"(<system><cpu><pci busid="1"><pci busid="2"><gpu dev="0" sm="90"/></pci>
      <pci busid="3"><nic><net dev="0" speed="400000"/></nic></pci>
      <pci busid="4"><nic><net dev="1" {}/></nic></pci></pci></cpu></system>)",
                       more);
  };
  const ImportedCluster mixed = imported({node("speed=\"200000\"")});
  REQUIRE(mixed.spec.groups[0].nic_bytes_per_s == 25e9);
  REQUIRE_THAT(fmt::format("{}", fmt::join(mixed.notes, "; ")),
               Catch::Contains("NICs have several speeds (1 of 200 Gbit/s, 1 of 400 Gbit/s)"));
  const ImportedCluster silent = imported({node("")});
  REQUIRE(silent.spec.groups[0].nic_bytes_per_s == 50e9);
  REQUIRE_THAT(fmt::format("{}", fmt::join(silent.notes, "; ")),
               Catch::Contains("of 1 NIC the file says no speed; it counts like the others"));
}

TEST_CASE("import: uneven trunks of rails are kept", "[import]") {
  std::string fabric;
  for (int rail = 0; rail < 2; ++rail) {
    fabric += fmt::format("Switch 65 \"S-1{}\" # \"L\" x\n", rail);
    for (int node = 0; node < 3; ++node)
      fabric += fmt::format("[{}] \"H-{}{}\"[1](0) # \"n{} mlx5_{}\" lid 1 4xNDR\n", node, rail,
                            node, node, rail);
    for (int up = 0; up <= rail; ++up)
      fabric += fmt::format("[{}] \"S-99\"[1] # \"SPINE\" lid 1 4xNDR\n", 9 + up);
  }
  ClusterAnswers answers;
  answers.nvlink_bytes_per_s = 450e9;
  const ImportedCluster cluster =
      imported({matrix({"X NV18 PIX SYS", "NV18 X SYS PIX"}, 2), fabric}, answers);
  require_round_trip(cluster);
  REQUIRE(cluster.spec.fabrics[0].rail_optimized);
  REQUIRE(cluster.spec.fabrics[0].trunk_bytes_per_s == std::vector<double>{50e9, 100e9});
  const Cluster built(cluster.spec);
  REQUIRE(built.gpus() == 6);
  REQUIRE(built.link(*built.leaf_up(Rank(1))).bandwidth_bytes_per_s == 100e9);  // of 150 GB/s
}

TEST_CASE("import: names of machines stay behind", "[import]") {
  const std::string text = R"(<system><cpu><pci busid="1" class="0x060400">
    <pci busid="2" class="0x030200"><gpu dev="0" sm="90"/></pci>
    <pci busid="3" class="0x020700"><nic><net name="secretnic" guid="0xfeedbeef" speed="400000"/></nic>
    </pci></pci></cpu></system>)";
  const std::string out =
      cluster_text(imported({text, "SwitchName=secretleaf Nodes=secretnode1\n"}));
  CAPTURE(out);
  REQUIRE(out.find("secret") == std::string::npos);
  REQUIRE(out.find("feed") == std::string::npos);
}

TEST_CASE("import: names are kept where asked, and can't break out of their comment", "[import]") {
  ClusterFiles files;
  add_cluster_file("<system><cpu><nic><net name=\"a&#10;b: c\" speed=\"1\"/></nic></cpu></system>",
                   "f", files, Names::keep);
  REQUIRE(files.facts == std::vector<std::string>{"NCCL topology: 1 host, 0 GPUs, 1 NIC each",
                                                  "names: NIC0 a\\nb: c"});
}

TEST_CASE("import: hosts of two kinds are two groups", "[import]") {
  const auto host = [](const std::string& hash, int nics) {
    std::string text = "<cpu host_hash=\"" + hash +
                       "\"><pci busid=\"1\" class=\"0x060400\">"
                       "<pci busid=\"2\" class=\"0x030200\"><gpu dev=\"0\" sm=\"90\"/></pci>";
    for (int n = 0; n < nics; ++n)
      text += fmt::format(
          "<pci busid=\"3{}\" class=\"0x020700\"><nic><net dev=\"{}\" "
          "speed=\"100000\"/></nic></pci>",
          n, n);
    return text + "</pci></cpu>";
  };
  const ImportedCluster cluster =
      imported({"<system>" + host("a", 1) + host("b", 2) + host("c", 2) + "</system>"});
  require_round_trip(cluster);
  REQUIRE(cluster.spec.groups.size() == 2);
  REQUIRE(cluster.spec.groups[1].nodes == 2);
}

TEST_CASE("import: two files about the same thing, or about something else, are refused",
          "[import]") {
  const std::string one = matrix({"X NV4", "NV4 X"}, 0);
  REQUIRE_THROWS_WITH(imported({one, one}),
                      "file: a second file about a node; give one of them, and the number of nodes "
                      "with --nodes");
  REQUIRE_THROWS_WITH(imported({"{\"a\": 1}"}),
                      Catch::StartsWith("file: this is JSON; expected an NCCL"));
  REQUIRE_THROWS_WITH(imported({"<graphs/>"}),
                      Catch::StartsWith("file: this is an NCCL graph file"));
  REQUIRE_THROWS_WITH(imported({"scenario: x\n"}),
                      Catch::StartsWith("file: this is a scenario of refit"));
}
