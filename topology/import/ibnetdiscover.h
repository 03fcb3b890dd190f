#pragma once

#include <string>
#include <string_view>

#include "topology/import/fabric_shape.h"

namespace refit {

// What `ibnetdiscover` saw of an InfiniBand fabric.
struct IbFabric {
  int switches = 0, leaves = 0, spines = 0;  // a leaf has hosts
  int channel_adapters = 0;                  // of hosts, and aggregation nodes inside switches
  int aggregation_nodes = 0;
  int cables = 0;                            // between leaves and spines
  int fewest_uplinks = 0, most_uplinks = 0;  // of a leaf
  FabricShape shape;
};

// Error(bad_input) if it is no such output, is larger than 256 MiB, or has no switch in it.
IbFabric read_ibnetdiscover(std::string_view text, const std::string& name);

}  // namespace refit
