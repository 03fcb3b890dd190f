#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace refit {

// How far a GPU and a NIC of a node are apart, in nvidia-smi's words, near to far.
enum class Distance {
  pix,   // one PCIe switch
  pxb,   // several PCIe switches
  phb,   // a PCIe host bridge, mostly the CPU
  node,  // host bridges of one NUMA node
  sys,   // between NUMA nodes
};
std::string_view to_string(Distance distance);  // "PIX"
bool is_near(Distance distance);                // the bytes don't pass the CPU

struct SeenGpu {
  int nvlinks = 0;              // sum over its NVLink or xGMI neighbours
  double link_bytes_per_s = 0;  // one direction of one such link; 0: not known
  friend bool operator==(const SeenGpu&, const SeenGpu&) = default;
};

struct SeenNic {
  std::string name;        // "mlx5_0"; may be personal
  double bytes_per_s = 0;  // 0: not said
  std::string unfit;       // why no weights go through it: "Wi-Fi"; empty: it may carry them

  // The name is no part of the shape.
  friend bool operator==(const SeenNic& a, const SeenNic& b) {
    return a.bytes_per_s == b.bytes_per_s && a.unfit == b.unfit;
  }
};

struct SeenPath {
  Distance distance = Distance::sys;
  double bytes_per_s = 0;  // the slowest PCIe link on it; 0: not said
  friend bool operator==(const SeenPath&, const SeenPath&) = default;
};

// One node as a tool on it describes it. GPUs and NICs count from 0 in the tool's order.
struct NodeShape {
  std::vector<SeenGpu> gpus;
  std::vector<SeenNic> nics;
  std::vector<std::vector<SeenPath>> paths;  // [gpu][nic]
  // GPUs with equal numbers reach each other by NVLink; empty: the text can't tell.
  std::vector<int> nvlink_domain;
  // Devices whose kind is not said, in groups behind one switch (an old vendor's file).
  std::vector<int> unknown_behind_switch;

  friend bool operator==(const NodeShape&, const NodeShape&) = default;
};

// Of all files: what is worth saying about what was read. No names.
using ImportNotes = std::vector<std::string>;

// What was assumed for lack of something better. Each list is dropped where people say the thing
// themselves.
struct AssumptionNotes {
  ImportNotes domains;    // who reaches whom by NVLink: --nvlink-domain
  ImportNotes nic_rates;  // --nic-bandwidth

  void append(const AssumptionNotes& more) {
    domains.insert(domains.end(), more.domains.begin(), more.domains.end());
    nic_rates.insert(nic_rates.end(), more.nic_rates.begin(), more.nic_rates.end());
  }
};

}  // namespace refit
