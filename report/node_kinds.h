#pragma once

#include <map>
#include <vector>

#include "models/refit.h"
#include "report/domain_groups.h"
#include "topology/cluster.h"

namespace refit {

// Nodes of a site that differ in nothing, and what the refit makes of them.
struct NodeKind {
  const NodeGroupSpec* group = nullptr;  // the first of those alike
  int nodes = 0;
  int sources = 0, destinations = 0;  // GPUs
  std::map<int, int> domains;         // how many, by GPUs

  int gpus() const { return nodes * group->gpus_per_node; }
};

// Leaf switches of a site with as many nodes of the same kinds and an equal trunk.
struct LeafKind {
  int site = 0;
  int leaves = 0;
  std::map<std::size_t, int> nodes;  // of one leaf, by kind
  double nics_bytes_per_s = 0;       // of one leaf, all together
  double trunk_bytes_per_s = 0;      // of one leaf
};

struct ClusterKinds {
  std::vector<NodeKind> nodes;   // in the order of the cluster
  std::vector<LeafKind> leaves;  // in the order of the cluster
};

ClusterKinds cluster_kinds(const Cluster& cluster, const Refit& refit);

}  // namespace refit
