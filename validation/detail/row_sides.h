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

struct RowSides {
  RowSide training, generation;
  bool in_place = false;  // training's GPUs are generation's own: weights start in host memory
  std::vector<std::string> assumptions;
};

// What the row's two layouts say, if they say enough.
struct RowLayouts {
  LayoutWords training, generation;
  bool from_host = false;  // training's does not matter: weights start in host memory
};
std::variant<RowLayouts, RowSkip> row_layouts(const PublishedRow& row, const std::string& system);

// Engines, degrees and numbers of GPUs; `system` is the preset.
std::variant<RowSides, RowSkip> row_sides(const PublishedRow& row, const std::string& system,
                                          const RowLayouts& layouts, const ModelSpec& model,
                                          const MachineKinds& kinds);

}  // namespace refit::detail
