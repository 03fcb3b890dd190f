#pragma once

#include <string>
#include <string_view>

#include "scenarios/import/imported.h"

namespace refit {

// Hydra overrides of verl's trainers, one per line or in a launch script: trainer.nnodes=8,
// actor_rollout_ref.actor.megatron.tensor_model_parallel_size=4, +key=value, ~key. What is left out
// or null has verl's default, and each such default is an assumption. Error(bad_input) names the
// key.
Imported read_verl(std::string_view text, const std::string& file, const ImportAnswers& answers);

}  // namespace refit
