#pragma once

#include <string>
#include <vector>

#include "topology/import/fabric_shape.h"

namespace refit {

// Who hangs where, as a scheduler is told: Slurm's topology.conf or topology.yaml, topograph's
// model.
struct SwitchTree {
  struct Group {         // of nodes
    std::string name;    // of the switch or block
    std::string domain;  // NVLink domain, if the file names it
    std::vector<std::string> nodes;
    std::string where;  // in the file
  };
  int switches = 0;
  int tiers = 0;              // of switches above a node
  std::vector<Group> leaves;  // switches with nodes, in the tree's order
  std::vector<Group> blocks;  // what belongs together by NVLink
  std::vector<int> block_sizes;
  FabricShape shape;
};

// The first error names the line. No more than 250,000 nodes.
SwitchTree read_slurm_conf(const std::string& text, const std::string& name);
SwitchTree read_slurm_yaml(const std::string& text, const std::string& name);
SwitchTree read_topograph_yaml(const std::string& text, const std::string& name);

}  // namespace refit
