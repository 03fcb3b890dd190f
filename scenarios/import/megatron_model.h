#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "scenarios/import/imported.h"

namespace refit {

// What Megatron's flags say of a model.
struct MegatronNumbers {
  std::optional<std::int64_t> layers, hidden, heads, query_groups, vocab, experts, expert_width;
  bool is_latent = false;           // multi-head latent attention
  std::vector<bool> expert_layers;  // which have experts; empty: not said
};

// Sets `model` to the one of the catalog that has these numbers. If the person named one, it must
// have them: Error(bad_input) names the number that differs.
void name_megatron_model(const MegatronNumbers& numbers, const ImportAnswers& answers,
                         Imported& out);

}  // namespace refit
