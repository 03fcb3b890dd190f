#include "validation/detail/machines.h"

#include <optional>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "validation/detail/nic_words.h"

using namespace refit;
using namespace refit::detail;

namespace {

// "node 8 nic 50 GB/s"
std::string nics(const std::string& text) {
  const NicWords w = read_nic_words(text);
  std::string out;
  if (w.per_node) out += fmt::format("node {} ", *w.per_node);
  if (w.per_gpu) out += fmt::format("gpu {} ", *w.per_gpu);
  if (w.bytes_per_s) out += fmt::format("nic {:g} ", *w.bytes_per_s / 1e9);
  if (w.gpu_bytes_per_s) out += fmt::format("of_gpu {:g} ", *w.gpu_bytes_per_s / 1e9);
  if (w.node_bytes_per_s) out += fmt::format("of_node {:g} ", *w.node_bytes_per_s / 1e9);
  if (!out.empty()) out.pop_back();
  return out;
}

PublishedRow row_of(const std::string& training, const std::string& generation,
                    const std::string& interconnect) {
  PublishedRow row;
  row.train_gpu_type = training;
  row.infer_gpu_type = generation;
  row.interconnect = interconnect;
  return row;
}

std::string cluster_of(const PublishedRow& row, int training_gpus, int generation_gpus,
                       std::optional<int> training_nodes = {}, std::optional<int> domains = {}) {
  const auto found = machine_kinds(row, false);
  if (const auto* skip = std::get_if<RowSkip>(&found)) return "skip " + skip->field;
  const auto& kinds = std::get<MachineKinds>(found);
  std::vector<std::string> said;
  return cluster_yaml(
      machines(kinds.training, training_gpus, training_nodes, domains, "training", said),
      machines(kinds.generation, generation_gpus, {}, domains, "generation", said));
}

}  // namespace

TEST_CASE("NIC words: texts of published interconnects", "[validation]") {
  // 400 Gbit/s = 50 GB/s.
  const std::pair<const char*, const char*> table[] = {
      {"8-GPU NVLink4 domain per node; 8 x 400 Gb/s IB (1 NIC per GPU)", "node 8 gpu 1 nic 50"},
      {"NVL72 NVLink5 domain, 4 GPUs per tray; 1 x 400 Gb/s NIC per GPU assumed", "gpu 1 nic 50"},
      {"8-GPU H100 hosts, InfiniBand (rate not stated; 400 Gb/s per GPU assumed)", "of_gpu 50"},
      {"400 Gb/s InfiniBand per rank (stated)", "of_gpu 50"},
      {"4 GPUs and 4 NICs per node, about 25 GB/s per NIC (CXI), about 100 GB/s per node",
       "node 4 nic 25 of_node 100"},
      {"RoCE; one 400 Gb/s NIC used per pull (386 Gb/s seen)", "nic 50"},
      {"8 RDMA rails per node (UCX), rate not stated", "node 8"},
      {"400 Gb/s per GPU (EFA or CX-7); about 36 GB/s per NIC achieved", "of_gpu 50"},
      {"AWS EFA 3,200 Gbit/s in all", "of_node 400"},
      {"EFA, 3.2 Tbps", "of_node 400"},
      {"16 x 200 Gbps EFA", "node 16 nic 25"},
      {"NDR InfiniBand", "nic 50"},
      {"NDR400", "nic 50"},
      {"Slingshot-11", "nic 25"},
      {"NVLink 900 GB/s", ""},
      {"TCP, 25GbE", "nic 3.125"},
      {"IB 400G", "nic 50"},
      {"unknown", ""},
  };
  for (const auto& [text, expected] : table) {
    CAPTURE(text);
    CHECK(nics(text) == expected);
  }
}

TEST_CASE("machines: types are found in their spellings", "[validation]") {
  const auto catalog = [](const std::string& type, const std::string& interconnect) {
    const auto found = machine_kinds(row_of(type, "same", interconnect), false);
    if (std::holds_alternative<RowSkip>(found)) return std::string("skip");
    return std::get<MachineKinds>(found).training.catalog;
  };
  REQUIRE(catalog("H100-80GB", "") == "dgx_h100");
  REQUIRE(catalog("H100 class 8-GPU nodes", "") == "dgx_h100");
  REQUIRE(catalog("8xH200", "") == "dgx_h200");
  REQUIRE(catalog("H20", "") == "hgx_h20");
  REQUIRE(catalog("GB300", "") == "gb300_nvl72");
  REQUIRE(catalog("GH200", "") == "gh200_slingshot");
  REQUIRE(catalog("unknown (H200 class, EFA)", "") == "aws_p5en");
  REQUIRE(catalog("H100", "400 Gb/s per GPU (EFA)") == "aws_p5");
  REQUIRE(catalog("MI300X", "") == "skip");
}

TEST_CASE("machines: NICs of the text replace the catalog's", "[validation]") {
  // p5en has 16 NICs of 25 GB/s: 400 Gbit/s per GPU is the same and needs no words.
  REQUIRE(cluster_of(row_of("H200", "same", "EFA, 400 Gb/s per GPU"), 16, 8) ==
          "cluster: {catalog: aws_p5en, nodes: 3}\n");
  REQUIRE(cluster_of(row_of("H200", "same", "400 Gb/s EFA"), 16, 8) ==
          "cluster: {catalog: aws_p5en, nodes: 3}\n");
  REQUIRE(cluster_of(row_of("H100", "same", "8 x 200 Gb/s RoCE"), 16, 8) ==
          "cluster: {catalog: dgx_h100, nodes: 3, nic_bandwidth: 25 GB/s}\n");
  REQUIRE(cluster_of(row_of("H100", "same", "4 x 400 Gb/s per node"), 8, 8) ==
          "cluster: {catalog: dgx_h100, nodes: 2, nics_per_node: 4}\n");
}

TEST_CASE("machines: nodes with fewer GPUs, groups and NVLink domains", "[validation]") {
  // 8 GPUs over 8 nodes: one each, with its NIC.
  REQUIRE(cluster_of(row_of("H100", "same", ""), 8, 8, 8) ==
          "cluster:\n  groups:\n"
          "    - {name: training, catalog: dgx_h100, nodes: 8, gpus_per_node: 1, "
          "nvlink_domain_gpus: 1, "
          "nics_per_node: 1}\n"
          "    - {name: generation, catalog: dgx_h100, nodes: 1}\n");
  // Where there are racks, domains are written out: the sides share none.
  REQUIRE(cluster_of(row_of("GB200", "H100", ""), 64, 16) ==
          "cluster:\n  groups:\n"
          "    - {name: training, catalog: gb200_nvl72, nodes: 16, domain_sizes: [64]}\n"
          "    - {name: generation, catalog: dgx_h100, nodes: 2, domain_sizes: [8, 8]}\n");
  // 128 GPUs in two domains on either side.
  REQUIRE(cluster_of(row_of("GB200", "GB200", ""), 128, 128, 32, 2) ==
          "cluster: {catalog: gb200_nvl72, nodes: 64, domain_sizes: [64, 64, 64, 64]}\n");
  REQUIRE(cluster_of(row_of("", "", ""), 8, 8) == "skip train_gpu_type");
  REQUIRE(cluster_of(row_of("H100", "TPU", ""), 8, 8) == "skip infer_gpu_type");
}
