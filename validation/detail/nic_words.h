#pragma once

#include <optional>
#include <string_view>

namespace refit::detail {

// What the text of an interconnect says of NICs: "8 x 400 Gb/s IB (1 NIC per GPU)", "about 25 GB/s
// per NIC", "3,200 Gbit/s per node", "8 RDMA rails per node". Rates of NVLink and PCIe, and those
// that somebody measured, are not NICs'.
struct NicWords {
  std::optional<int> per_node, per_gpu;
  std::optional<double> bytes_per_s;       // of one NIC
  std::optional<double> node_bytes_per_s;  // of all NICs of a node
  std::optional<double> gpu_bytes_per_s;   // of all NICs of a GPU
};

NicWords read_nic_words(std::string_view text);

}  // namespace refit::detail
