#pragma once

#include <optional>
#include <string>
#include <vector>

#include "validation/detail/machine_kinds.h"

namespace refit::detail {

// The machines of one side, as a group of a scenario's cluster.
struct Machines {
  std::string catalog;
  int nodes = 0;
  int gpus_per_node = 0;
  int domain_gpus = 0;                 // of NVLink, as the catalog has it
  int gpus = 0;                        // used; at most nodes * gpus_per_node
  std::vector<std::string> overrides;  // "nic_bandwidth: 25 GB/s"
  std::optional<int> said_domains;     // "2 NVL domains"
};

// So many GPUs on such machines; `said_nodes` is the row's, if it has one.
Machines machines(const MachineKind& kind, int gpus, std::optional<int> said_nodes,
                  std::optional<int> said_domains, const char* side,
                  std::vector<std::string>& assumptions);

// The `cluster` part of a scenario: one group, or training's machines first.
std::string cluster_yaml(const Machines& both);
std::string cluster_yaml(const Machines& training, const Machines& generation);

// Where generation begins: the first GPU of its first node.
int first_generation_gpu(const Machines& training);

}  // namespace refit::detail
