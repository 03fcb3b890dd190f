#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "topology/import/node_shape.h"

namespace refit {

// What an NCCL (or RCCL) topology file says: a dump of a job, or a vendor's hints.
struct NcclTopology {
  std::vector<NodeShape> hosts;
  bool is_hint = false;  // a PCI tree without what a job found out: no speeds of NICs, no NVLink
  bool joined_hosts = false;  // NVLink switches join GPUs of several hosts
  ImportNotes notes;
  AssumptionNotes assumed;
};

// Error(bad_input) if the text is no such file, larger than 16 MiB or deeper than 64 elements.
NcclTopology read_nccl_topology(const std::string& text, const std::string& name);

// One line about an NCCL graph file, which is no topology: the rings and trees that a job chose.
std::string nccl_graph_in_words(const std::string& text, const std::string& name);

}  // namespace refit
