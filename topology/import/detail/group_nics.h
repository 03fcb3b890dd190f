#pragma once

#include <vector>

#include "topology/cluster.h"
#include "topology/import/detail/cluster_draft.h"
#include "topology/import/node_shape.h"

namespace refit::detail {

// The NICs of a group's nodes: how many, how fast, and which of them each GPU uses. `order` has the
// GPU of the file at each place in the node.
void set_nics(ClusterDraft& draft, const NodeShape& shape, const std::vector<int>& order,
              NodeGroupSpec& group);

// Their speed alone, where it is not known yet which carry weights.
void set_nic_rate(ClusterDraft& draft, const std::vector<SeenNic>& nics, NodeGroupSpec& group);

}  // namespace refit::detail
