#pragma once

#include <string>
#include <variant>
#include <vector>

#include "models/model_spec.h"
#include "validation/detail/layout_words.h"
#include "validation/detail/row_side.h"
#include "validation/published_row.h"
#include "validation/row_case.h"

namespace refit::detail {

// Who holds the weights before: Megatron, or an engine of the FSDP family where the text names one.
std::variant<RowSide, RowSkip> training_side(const PublishedRow& row, const std::string& system,
                                             const LayoutWords& words, const ModelSpec& model,
                                             const MachineKind& kind,
                                             std::vector<std::string>& assumptions);

// Weights that wait in the host memory of the generation nodes, divided evenly among their GPUs.
RowSide host_side(int gpus, std::vector<std::string>& assumptions);

}  // namespace refit::detail
