#pragma once

#include <vector>

#include "topology/cluster.h"
#include "topology/import/fabric_shape.h"

namespace refit::detail {

// The first blocks of a shape, as many as these nodes need; what it does not say is as `otherwise`.
FabricSpec fabric_of(const FabricShape& shape, const std::vector<NodeGroupSpec>& groups,
                     const FabricSpec& otherwise, ImportNotes& notes);

}  // namespace refit::detail
