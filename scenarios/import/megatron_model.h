#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/import/imported.h"

namespace refit {

// What Megatron's flags say of a model.
struct MegatronNumbers {
  std::optional<std::int64_t> layers, hidden, heads, query_groups, vocab, experts, expert_width;
  bool is_latent = false;           // multi-head latent attention
  std::vector<bool> expert_layers;  // which have experts; empty: not said
  // The rest by flag: numbers, and switches that are on.
  std::map<std::string, std::int64_t, std::less<>> sizes;
  std::set<std::string, std::less<>> switches;
};

// The flags that `sizes` and `switches` may hold.
std::span<const std::string_view> megatron_size_flags();
std::span<const std::string_view> megatron_switch_flags();

// The first of these flags that does not fit the model, in words; empty if all do.
std::string size_difference(const MegatronNumbers& numbers, const ModelSpec& model);

// Sets `model` to the one of the catalog that has these numbers. If the person named one, it must
// have them: Error(bad_input) names the number that differs.
void name_megatron_model(const MegatronNumbers& numbers, const ImportAnswers& answers,
                         Imported& out);

}  // namespace refit
