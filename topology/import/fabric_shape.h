#pragma once

#include <string>
#include <vector>

#include "topology/import/node_shape.h"

namespace refit {

// What joins nodes outside of themselves, as a fabric's or a scheduler's file says. Nodes are
// numbers here, block by block; names stay behind.
struct FabricShape {
  // Nodes that hang on the same leaf, or on the same leaves, one per rail.
  struct Block {
    int nodes = 0;
    // What the trunk of each of its leaves carries; empty: not said.
    std::vector<double> trunk_bytes_per_s;
  };
  std::vector<Block> blocks;
  bool rail_optimized = false;
  double nic_bytes_per_s = 0;  // of the hosts' ports; 0: not said
  // Nodes of each NVLink domain in turn, over all blocks; empty: not said.
  std::vector<int> domain_nodes;
  ImportNotes facts;  // counts, for people
  ImportNotes notes;

  int nodes() const {
    int sum = 0;
    for (const Block& block : blocks) sum += block.nodes;
    return sum;
  }
};

}  // namespace refit
