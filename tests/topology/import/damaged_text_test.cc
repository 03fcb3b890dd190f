// Texts that are cut, mixed up or noise: a reader returns or throws refit::Error, and nothing else.
#include <random>

#include <catch2/catch.hpp>

#include "base/error.h"
#include "base/file_kind.h"
#include "topology/import/cluster_import.h"
#include "topology/import/ibnetdiscover.h"
#include "topology/import/nccl_topology.h"
#include "topology/import/slurm_topology.h"
#include "topology/import/smi_matrix.h"

using namespace refit;

namespace {

using Read = void (*)(const std::string& text);

struct Format {
  const char* name;
  const char* good;
  Read read;
};

void through_all(const std::string& text) {
  ClusterFiles files;
  add_cluster_file(text, "t", files);
  ClusterAnswers answers;
  answers.catalog = "dgx_h100";
  const ImportedCluster cluster = import_cluster(files, answers);
  if (cluster.missing.empty()) cluster_text(cluster);
}

const Format kFormats[] = {
    {"nccl",
     "<system version=\"1\"><cpu numaid=\"0\" host_hash=\"0x1\"><pci busid=\"1\" "
     "class=\"0x060400\" "
     "link_speed=\"16.0 GT/s PCIe\" link_width=\"16\"><pci busid=\"2\" class=\"0x030200\"><gpu "
     "dev=\"0\" sm=\"90\"><nvlink target=\"f\" count=\"18\" tclass=\"0x068000\"/></gpu></pci><pci "
     "busid=\"3\" class=\"0x020700\"><nic><net name=\"a\" dev=\"0\" speed=\"400000\"/></nic></pci>"
     "</pci></cpu></system>",
     [](const std::string& text) { read_nccl_topology(text, "t"); }},
    {"smi", "\tGPU0\tGPU1\tNIC0\tCPU Affinity\nGPU0\t X \tNV18\tPIX\t0\nGPU1\tNV18\t X \tSYS\t0\n",
     [](const std::string& text) { read_smi_matrix(text, "t"); }},
    {"ib",
     "Switch 65 \"S-1\" # \"L\" x\n[1] \"H-1\"[1](1) # \"n1 mlx5_0\" lid 1 4xNDR\n[2] \"S-2\"[1] # "
     "\"S\" lid 1 4xNDR\nSwitch 65 \"S-2\" # \"S\" x\nCa 1 \"H-1\" # \"n1 mlx5_0\"\n",
     [](const std::string& text) { read_ibnetdiscover(text, "t"); }},
    {"slurm conf",
     "SwitchName=r Switches=s[1-2]\nSwitchName=s1 Nodes=a[1-3]\nSwitchName=s2 Nodes=b1\n",
     [](const std::string& text) { read_slurm_conf(text, "t"); }},
    {"slurm yaml", "- topology: a\n  tree:\n    switches:\n    - {switch: s, nodes: \"n[1-4]\"}\n",
     [](const std::string& text) { read_slurm_yaml(text, "t"); }},
    {"topograph",
     "switches:\n  r: {switches: [s]}\nblocks:\n- {switch: s, nodes: [\"n[1-3]\"], annotations: "
     "{a/nvlink: d}}\n",
     [](const std::string& text) { read_topograph_yaml(text, "t"); }},
};

void require_survives(const Format& format, const std::string& text) {
  for (const Read read : {format.read, static_cast<Read>(through_all)}) {
    try {
      read(text);
    } catch (const Error& error) {
      REQUIRE(std::string(error.what()).size() < 4000);
    }
  }
}

}  // namespace

TEST_CASE("damaged texts: good ones are read", "[import]") {
  for (const Format& format : kFormats) {
    CAPTURE(format.name);
    REQUIRE_NOTHROW(format.read(format.good));
  }
}

TEST_CASE("damaged texts: every cut is read or refused", "[import]") {
  for (const Format& format : kFormats) {
    const std::string good = format.good;
    for (std::size_t size = 0; size < good.size(); ++size)
      require_survives(format, good.substr(0, size));
  }
}

TEST_CASE("damaged texts: bytes changed, doubled and moved are read or refused", "[import]") {
  const unsigned seed = 20240611;
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto below = [&](std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(random);
  };
  for (const Format& format : kFormats) {
    for (int round = 0; round < 150; ++round) {
      std::string text = format.good;
      for (std::size_t times = 1 + below(6); times > 0; --times) {
        const std::size_t at = below(text.size());
        const std::size_t length = 1 + below(std::min<std::size_t>(20, text.size() - at));
        switch (below(4)) {
          case 0:
            text[at] = static_cast<char>(below(256));
            break;
          case 1:
            text.insert(below(text.size()), text.substr(at, length));
            break;
          case 2:
            if (length < text.size()) text.erase(at, length);
            break;
          default:
            text.replace(at, length, std::to_string(random()));
            break;
        }
      }
      CAPTURE(text);
      require_survives(format, text);
    }
  }
}

TEST_CASE("damaged texts: noise is refused", "[import]") {
  const unsigned seed = 7;
  std::mt19937 random(seed);
  for (int round = 0; round < 100; ++round) {
    std::string noise(1 + random() % 200, ' ');
    for (char& c : noise) c = static_cast<char>(random() % 256);
    for (const Format& format : kFormats) require_survives(format, noise);
  }
}
