#pragma once

#include <string>
#include <string_view>

#include "topology/import/node_shape.h"

namespace refit {

// What `nvidia-smi topo -m` or `-mp` prints: each GPU beside each GPU and NIC.
//
//           GPU0    GPU1    NIC0    CPU Affinity
//   GPU0     X      NV18    PIX     0-55
//   GPU1    NV18     X      SYS     0-55
struct SmiMatrix {
  NodeShape node;
  bool is_pcie_view = false;  // no NV# anywhere: -mp, or GPUs without NVLink; the text can't tell
  ImportNotes notes;
};

// Takes colour codes, glued headers ("GPU0GPU1"), lines that a terminal wrapped, rows in any order
// and text around the matrix. Error(bad_input) if there is no matrix, or it has holes.
SmiMatrix read_smi_matrix(std::string_view text, const std::string& name);

}  // namespace refit
