#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "validation/detail/machine_kinds.h"

namespace refit::detail {

// One side as a scenario writes it, without its precision.
struct RowSide {
  std::string engine;
  int gpus = 0;
  std::vector<std::string> keys;  // "tensor: 8"
  std::optional<int> nvlink_domains;
};

constexpr std::int64_t kMostGpus = 100'000;  // of a side

// 1 is the default of every degree and stays unwritten.
void add_degree(RowSide& side, const char* key, std::optional<int> degree);

// Of the degrees that are said; at most a little more than kMostGpus.
std::int64_t product(std::initializer_list<std::optional<int>> degrees);

// The column, else the nodes, else what the layout fixes; nothing if none says it.
std::optional<int> gpu_count(std::optional<int> column, std::optional<int> nodes,
                             const MachineKind& kind, std::optional<std::int64_t> of_layout,
                             const char* side, std::vector<std::string>& assumptions);

}  // namespace refit::detail
