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

// Who needs the weights: SGLang where the row names it or its framework uses it, else vLLM.
std::variant<RowSide, RowSkip> generation_side(const PublishedRow& row, const std::string& system,
                                               const LayoutWords& words, const ModelSpec& model,
                                               const MachineKind& kind,
                                               std::vector<std::string>& assumptions);

}  // namespace refit::detail
