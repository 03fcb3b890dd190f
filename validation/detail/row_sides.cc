#include "validation/detail/row_sides.h"

#include <utility>

#include <fmt/format.h>

#include "validation/detail/cell.h"
#include "validation/detail/generation_side.h"
#include "validation/detail/training_side.h"

namespace refit::detail {
namespace {

RowSkip no_layout(const char* field, const std::string& text) {
  if (text.empty()) return {field, "is not given"};
  return {field, fmt::format("'{}' names no degrees that are known", printable(text))};
}

}  // namespace

std::variant<RowLayouts, RowSkip> row_layouts(const PublishedRow& row, const std::string& system) {
  RowLayouts layouts{read_layout_words(row.train_layout), read_layout_words(row.infer_layout)};
  layouts.from_host = system.starts_with("checkpoint_engine") &&
                      (layouts.training.host_memory || !layouts.training.says_layout());
  if (!layouts.from_host && !layouts.training.says_layout()) {
    return no_layout("train_layout", row.train_layout);
  }
  if (!layouts.generation.says_layout()) return no_layout("infer_layout", row.infer_layout);
  return layouts;
}

std::variant<RowSides, RowSkip> row_sides(const PublishedRow& row, const std::string& system,
                                          const RowLayouts& layouts, const ModelSpec& model,
                                          const MachineKinds& kinds) {
  RowSides sides;
  auto there =
      generation_side(row, system, layouts.generation, model, kinds.generation, sides.assumptions);
  if (auto* skip = std::get_if<RowSkip>(&there)) return *skip;
  sides.generation = std::get<RowSide>(std::move(there));
  if (layouts.from_host) {
    sides.training = host_side(sides.generation.gpus, sides.assumptions);
    sides.in_place = true;
  } else {
    auto here =
        training_side(row, system, layouts.training, model, kinds.training, sides.assumptions);
    if (auto* skip = std::get_if<RowSkip>(&here)) return *skip;
    sides.training = std::get<RowSide>(std::move(here));
  }
  for (const auto& [side, field] :
       {std::pair(&sides.training, "train_gpus"), std::pair(&sides.generation, "infer_gpus")}) {
    if (side->gpus > kMostGpus) {
      return RowSkip{field, fmt::format("{} GPUs are more than the {} that are simulated",
                                        side->gpus, kMostGpus)};
    }
  }
  return sides;
}

}  // namespace refit::detail
