#pragma once

#include <string>
#include <vector>

#include "topology/cluster.h"
#include "topology/import/node_shape.h"

namespace refit {

// Which NICs of a node carry weights, and which of them each GPU uses.
//
// A GPU uses the NICs that are nearest to it, if their bytes don't pass the CPU. GPUs with the same
// NICs share them. A NIC that is near no GPU is for something else (storage, management). A GPU
// with no near NIC uses the least used of the nearest ones. In a virtual machine that hides the
// switches everything is equally far: then the nearest NICs are shared by all that are as near.
struct NicChoice {
  std::vector<std::vector<int>> nics_of_gpu;  // numbers of the tool; GPUs share all or none
  std::vector<SeenPath> path_of_gpu;          // to the farthest of them
  std::vector<int> carriers;                  // in rising order
  std::vector<int> far_gpus;                  // with no near NIC, although others have one
  std::string unclear;                        // why nothing can be said; empty: all of the above
  ImportNotes notes;
};

NicChoice choose_nics(const NodeShape& node);

// "0-3, 6"
std::string ranges_of(const std::vector<int>& numbers);

}  // namespace refit
