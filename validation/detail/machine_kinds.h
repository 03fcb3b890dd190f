#pragma once

#include <string>
#include <variant>
#include <vector>

#include "validation/published_row.h"
#include "validation/row_case.h"

namespace refit::detail {

// A kind of machine, before the number of GPUs is known.
struct MachineKind {
  std::string catalog;
  int gpus_per_node = 0;
  int domain_gpus = 0;
  std::vector<std::string> overrides;
};

struct MachineKinds {
  MachineKind training, generation;
  std::vector<std::string> assumptions;
};

// From the GPU types, "same" and the interconnect. A type that only one side has is that of both,
// which needs no saying if there is only `one_side`.
std::variant<MachineKinds, RowSkip> machine_kinds(const PublishedRow& row, bool one_side);

}  // namespace refit::detail
