#include "validation/detail/row_side.h"

#include <algorithm>

#include <fmt/format.h>

namespace refit::detail {

void add_degree(RowSide& side, const char* key, std::optional<int> degree) {
  if (degree.value_or(1) != 1) side.keys.push_back(fmt::format("{}: {}", key, *degree));
}

std::int64_t product(std::initializer_list<std::optional<int>> degrees) {
  std::int64_t all = 1;
  for (const auto& degree : degrees) all = std::min(all * degree.value_or(1), 2 * kMostGpus);
  return all;
}

std::optional<int> gpu_count(std::optional<int> column, std::optional<int> nodes,
                             const MachineKind& kind, std::optional<std::int64_t> of_layout,
                             const char* side, std::vector<std::string>& assumptions) {
  if (column) return column;
  if (nodes) {
    const std::int64_t gpus =
        std::min(std::int64_t{*nodes} * kind.gpus_per_node, kMostGpus + 1);  // which is refused
    assumptions.push_back(fmt::format("{} nodes of {} are full: {} GPUs.", *nodes, side, gpus));
    return static_cast<int>(gpus);
  }
  if (!of_layout) return std::nullopt;
  assumptions.push_back(
      fmt::format("The number of GPUs of {}, {}, follows from its degrees.", side, *of_layout));
  return static_cast<int>(*of_layout);
}

}  // namespace refit::detail
