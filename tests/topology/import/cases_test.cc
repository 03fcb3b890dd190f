// Files of people who run such machines, and what a reader must get right of each.
#include <fstream>
#include <sstream>

#include <catch2/catch.hpp>

#include "base/error.h"
#include "base/yaml.h"
#include "tests/support/cases.h"
#include "topology/cluster_yaml.h"
#include "topology/import/cluster_import.h"
#include "topology/import/ibnetdiscover.h"
#include "topology/import/nccl_topology.h"
#include "topology/import/nic_choice.h"
#include "topology/import/slurm_topology.h"
#include "topology/import/smi_matrix.h"

using namespace refit;

namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  REQUIRE(file);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Everything that can be asked for is answered: then it is a cluster, and reads back.
void require_cluster(const std::string& path) {
  ClusterFiles files;
  add_cluster_file(text_of(path), path, files);
  ClusterAnswers answers;
  answers.catalog = "dgx_h100";
  answers.nvlink_domain_gpus = 1;
  for (const char* distance : {"PHB", "NODE", "SYS"}) answers.distance_bytes_per_s[distance] = 20e9;
  ImportedCluster cluster = import_cluster(files, answers);
  for (const MissingAnswer& missing : cluster.missing) {
    REQUIRE(missing.option == "--nics-per-node N");
    answers.nics_per_node = static_cast<int>(std::max<std::size_t>(1, files.hosts[0].gpus.size()));
  }
  cluster = import_cluster(files, answers);
  REQUIRE(cluster.missing.empty());
  const std::string text = cluster_text(cluster);
  CAPTURE(text);
  REQUIRE(read_cluster(YamlNode::parse_text(text, "out").at("cluster")) == cluster.spec);
}

int near_nics(const NodeShape& node, std::size_t gpu) {
  int count = 0;
  for (const SeenPath& path : node.paths[gpu]) count += is_near(path.distance) ? 1 : 0;
  return count;
}

}  // namespace

TEST_CASE("cases: NCCL topologies", "[cases]") {
  const auto folder = cases_folder("nccl_topo_xml");
  if (!folder) return;
  const auto read = [&](const std::string& name) {
    require_cluster(*folder + "/" + name);
    return read_nccl_topology(text_of(*folder + "/" + name), name);
  };
  for (const char* name : {"azure-ndv4-a100.xml", "azure-ndv5-h100.xml"}) {
    CAPTURE(name);
    const NcclTopology topology = read(name);
    REQUIRE(topology.is_hint);
    REQUIRE(topology.hosts[0].gpus.size() == 8);
    REQUIRE(topology.hosts[0].nics.size() == 8);
    REQUIRE(topology.hosts[0].nics[0].bytes_per_s == 0);
    REQUIRE(near_nics(topology.hosts[0], 0) ==
            (std::string(name).find("ndv4") != std::string::npos ? 2 : 1));
  }
  const NcclTopology ncv4 = read("azure-ncv4-a100pcie.xml");
  REQUIRE(ncv4.hosts[0].gpus.size() == 4);
  REQUIRE(ncv4.hosts[0].nics.size() == 1);
  REQUIRE(ncv4.hosts[0].nics[0].unfit == "no PCI device");
  const NcclTopology p4d = read("aws-p4d-a100.xml");
  REQUIRE(p4d.is_hint);
  REQUIRE(p4d.hosts[0].gpus.size() == 8);
  REQUIRE(p4d.hosts[0].nics.size() == 4);
  const NcclTopology g5 = read("aws-g5-a10g.xml");
  REQUIRE(g5.hosts[0].gpus.empty());
  const NcclTopology p5 = read("aws-p5-h100-32efa.xml");
  REQUIRE(p5.hosts[0].gpus.size() == 8);
  REQUIRE(p5.hosts[0].nics.size() == 32);
  for (std::size_t g = 0; g < 8; ++g) REQUIRE(near_nics(p5.hosts[0], g) == 4);
  for (const SeenNic& nic : p5.hosts[0].nics) REQUIRE(nic.bytes_per_s == 12.5e9);
  const NcclTopology old = read("aws-p5-h100-old.xml");
  REQUIRE(old.hosts[0].unknown_behind_switch == std::vector<int>(8, 4));
  REQUIRE_FALSE(old.notes.empty());
  const NcclTopology bare = read("h200-baremetal.xml"), flat = read("h200-vm-flat.xml");
  for (const NcclTopology* one : {&bare, &flat}) {
    REQUIRE(one->hosts[0].gpus.size() == 8);
    REQUIRE(one->hosts[0].gpus[7].nvlinks == 18);
    REQUIRE(one->hosts[0].nvlink_domain == std::vector<int>(8, 0));
  }
  for (std::size_t g = 0; g < 8; ++g) {
    REQUIRE(near_nics(bare.hosts[0], g) == 1);
    REQUIRE(near_nics(flat.hosts[0], g) == 0);
  }
  const NcclTopology spark = read("gb10-spark.xml");
  REQUIRE(spark.hosts[0].gpus.size() == 1);
  REQUIRE(spark.hosts[0].nics.size() == 2);
  REQUIRE_FALSE(choose_nics(spark.hosts[0]).unclear.empty());
  const NcclTopology mi300 = read("rccl-topo_8p_940.xml"), mi250 = read("rccl-topo_8p1h_n1.xml");
  REQUIRE(mi300.hosts[0].gpus[0].nvlinks == 7);
  REQUIRE(mi250.hosts[0].gpus.size() == 8);
  REQUIRE(mi250.hosts[0].gpus[0].nvlinks == 7);  // 4 + 2 + 1
  REQUIRE(mi250.hosts[0].nics.size() == 4);
  REQUIRE_THROWS_WITH(read_nccl_topology(text_of(*folder + "/azure-ncv4.graph.xml"), "g.xml"),
                      Catch::StartsWith("g.xml: this is an NCCL graph file"));
}

TEST_CASE("cases: matrices of nvidia-smi topo", "[cases]") {
  const auto folder = cases_folder("nvidia_smi_topo");
  if (!folder) return;
  const auto read = [&](const std::string& name) {
    CAPTURE(name);
    require_cluster(*folder + "/" + name);
    return read_smi_matrix(text_of(*folder + "/" + name), name);
  };
  const auto choice = [&](const std::string& name) { return choose_nics(read(name).node); };
  using Ints = std::vector<int>;
  REQUIRE(choice("h100-dgx-mlx5cols.txt").carriers == Ints{0, 1, 2, 3, 4, 5, 6, 7});
  REQUIRE(read("h100-dgx-mlx5cols.txt").node.nics.size() == 10);
  const NicChoice oci = choice("oci-4gpu-nic-legend.txt");
  REQUIRE(oci.nics_of_gpu == std::vector<Ints>{{0}, {3}, {2}, {1}});
  REQUIRE(oci.notes == ImportNotes{"GPU0 is near NIC1 too, which is left to a GPU with fewer"});
  REQUIRE(choice("gb200-4gpu-6nic-all-sys.txt").unclear ==
          "every NIC is as far from every GPU (SYS), so which GPU uses which is not said");
  REQUIRE(choice("h100-nic-index-gap.txt").carriers == Ints{0, 1, 2, 5, 6, 7, 8, 9});
  const NicChoice even = choice("h100-8gpu-4nic-even-gpus.txt");
  REQUIRE(even.far_gpus == Ints{1, 3, 5, 7});
  REQUIRE(even.carriers == Ints{0, 1, 2, 3});
  const NicChoice h800 = choice("h800-8gpu-18nic-gpu-pair-shares-4nics.txt");
  REQUIRE(h800.carriers.size() == 16);
  REQUIRE(h800.nics_of_gpu[0] == Ints{0, 1, 2, 3});
  REQUIRE(h800.nics_of_gpu[1] == Ints{0, 1, 2, 3});
  REQUIRE(h800.nics_of_gpu[2] == Ints{6, 7, 8, 9});
  const SmiMatrix view = read("topo-mp-pcie-view-14nic.txt");
  REQUIRE(view.is_pcie_view);
  REQUIRE(choose_nics(view.node).carriers.size() == 8);
  const NicChoice vm = choice("topo-mp-vm-all-phb.txt");
  REQUIRE(vm.carriers == Ints{1, 2, 3, 4, 5, 6, 7, 8});
  REQUIRE(vm.nics_of_gpu[7] == Ints{5, 6, 7, 8});
  const NicChoice uneven = choice("a100-4gpu-2hca-uneven.txt");
  REQUIRE(uneven.far_gpus == Ints{0, 3});
  REQUIRE(uneven.nics_of_gpu[1] == Ints{0});
  REQUIRE(uneven.nics_of_gpu[2] == Ints{1});
  const SmiMatrix order = read("rows-out-of-order.txt");
  REQUIRE(order.node.paths[0][0].distance == Distance::pix);
  REQUIRE(order.node.paths[2][0].distance == Distance::node);
  REQUIRE(read("preamble-line.txt").node.gpus.size() == 2);
  REQUIRE(read("partial-legend.txt").node.nics.size() == 2);
  REQUIRE(read("ansi-escape-header.txt").node.nics.size() == 2);
  REQUIRE(read("no-nic-columns.txt").node.nics.empty());
  REQUIRE_THROWS_AS(read_smi_matrix(text_of(*folder + "/no-header-noise.txt"), "n"), Error);
}

TEST_CASE("cases: an InfiniBand fabric", "[cases]") {
  const auto folder = cases_folder("ib_fabric");
  if (!folder) return;
  require_cluster(*folder + "/ibnetdiscover-ndr-2tier.out");
  const IbFabric fabric =
      read_ibnetdiscover(text_of(*folder + "/ibnetdiscover-ndr-2tier.out"), "ib");
  REQUIRE(fabric.switches == 40);
  REQUIRE(fabric.leaves == 31);
  REQUIRE(fabric.spines == 9);
  REQUIRE(fabric.channel_adapters == 582);
  REQUIRE(fabric.aggregation_nodes == 40);
  REQUIRE(fabric.cables == 532);
  REQUIRE(fabric.fewest_uplinks == 14);
  REQUIRE(fabric.most_uplinks == 18);
  REQUIRE(fabric.shape.rail_optimized);
  REQUIRE(fabric.shape.blocks.size() == 8);
  REQUIRE_THROWS_WITH(read_ibnetdiscover(text_of(*folder + "/ibnetdiscover-no-switch.out"), "no"),
                      Catch::StartsWith("no: no switch is in it, only 1 adapter"));
}

TEST_CASE("cases: topologies of schedulers", "[cases]") {
  const auto folder = cases_folder("slurm");
  if (!folder) return;
  for (const char* name : {"nvl72.yaml", "slinky-oci-sim-tree.conf", "small-tree.yaml"})
    require_cluster(*folder + "/" + name);
  const SwitchTree racks = read_topograph_yaml(text_of(*folder + "/nvl72.yaml"), "racks");
  REQUIRE(racks.leaves.size() == 4);
  REQUIRE(racks.tiers == 3);
  REQUIRE(racks.shape.domain_nodes() == std::vector<int>{18, 18, 18, 18});
  const SwitchTree tree = read_slurm_conf(text_of(*folder + "/slinky-oci-sim-tree.conf"), "tree");
  REQUIRE(tree.switches == 19);
  REQUIRE(tree.leaves.size() == 12);
  REQUIRE(tree.shape.nodes() == 96);
  const SwitchTree holes = read_topograph_yaml(text_of(*folder + "/small-tree.yaml"), "holes");
  REQUIRE(holes.shape.domain_nodes() == std::vector<int>{3, 3});
  REQUIRE(holes.shape.domains[0].holes + holes.shape.domains[1].holes == 2);
}
