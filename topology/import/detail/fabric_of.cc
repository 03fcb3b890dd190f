#include "topology/import/detail/fabric_of.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace refit::detail {
namespace {

std::size_t rails_of(const NodeGroupSpec& group) {
  if (group.gpu_nics.empty())
    return static_cast<std::size_t>(std::min(group.nics_per_node, group.gpus_per_node));
  std::set<std::vector<int>> bundles;
  for (const GpuNics& gpu : group.gpu_nics) bundles.insert(gpu.nics);
  return bundles.size();
}

}  // namespace

FabricSpec fabric_of(const FabricShape& shape, const std::vector<NodeGroupSpec>& groups,
                     const FabricSpec& otherwise, ImportNotes& notes) {
  std::size_t seen_rails = 1;
  bool says_trunks = true;
  for (const FabricShape::Block& block : shape.blocks) {
    seen_rails = std::max(seen_rails, block.trunk_bytes_per_s.size());
    says_trunks &= !block.trunk_bytes_per_s.empty();
  }
  FabricSpec fabric;
  fabric.latency_s = otherwise.latency_s;
  const bool same_rails =
      std::all_of(groups.begin(), groups.end(),
                  [&](const NodeGroupSpec& group) { return rails_of(group) == seen_rails; });
  fabric.rail_optimized = shape.rail_optimized && (!says_trunks || same_rails);
  if (shape.rail_optimized && !fabric.rail_optimized) {
    notes.push_back(
        fmt::format("the fabric has {} leaves for each block of nodes, a node has {} rails; here "
                    "such leaves are one with the sum of their trunks",
                    seen_rails, rails_of(groups.front())));
  }
  int left = 0;
  for (const NodeGroupSpec& group : groups) left += group.nodes;
  for (const FabricShape::Block& block : shape.blocks) {
    if (left == 0) break;
    notes.insert(notes.end(), block.notes.begin(), block.notes.end());
    fabric.leaf_nodes.push_back(std::min(block.nodes, left));
    left -= fabric.leaf_nodes.back();
    if (!says_trunks) continue;
    std::vector<double> trunks = block.trunk_bytes_per_s;
    if (!fabric.rail_optimized) {
      double sum = 0;
      for (const double rate : trunks) sum += rate;
      trunks = {sum};
    }
    fabric.trunk_bytes_per_s.insert(fabric.trunk_bytes_per_s.end(), trunks.begin(), trunks.end());
  }
  // As nodes_per_leaf where all leaves but the last are equal.
  std::vector<int>& sizes = fabric.leaf_nodes;
  const bool equal = left == 0 && std::all_of(sizes.begin(), sizes.end() - 1,
                                              [&](int size) { return size == sizes.front(); });
  if (equal && sizes.back() <= sizes.front()) {
    fabric.nodes_per_leaf = sizes.front();
    sizes.clear();
  }
  if (!says_trunks) {
    fabric.oversubscription = otherwise.oversubscription;
    notes.push_back(
        "what trunks carry is not in the file; the fabric counts as non-blocking (set "
        "fabric.oversubscription if it is not)");
  }
  return fabric;
}

}  // namespace refit::detail
