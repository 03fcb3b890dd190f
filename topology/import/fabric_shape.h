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
    ImportNotes notes;  // about this block
  };
  struct Domain {  // GPUs of these nodes reach each other by NVLink
    int nodes = 0;
    int holes = 0;         // numbers left out among its nodes
    bool is_block = true;  // of the scheduler; otherwise a node that is in none
  };
  std::vector<Block> blocks;
  bool rail_optimized = false;
  double nic_bytes_per_s = 0;   // of the hosts' ports; 0: not said
  std::vector<Domain> domains;  // in turn, over all blocks; empty: not said
  ImportNotes facts;            // counts, for people
  ImportNotes notes;
  AssumptionNotes assumed;

  int nodes() const {
    int sum = 0;
    for (const Block& block : blocks) sum += block.nodes;
    return sum;
  }
  std::vector<int> domain_nodes() const {
    std::vector<int> nodes;
    for (const Domain& domain : domains) nodes.push_back(domain.nodes);
    return nodes;
  }
};

}  // namespace refit
