#pragma once

#include <cstdint>
#include <optional>

#include "scenarios/import/imported.h"
#include "scenarios/import/megatron_flags.h"

namespace refit {

// How many ranks train: slime says nodes, torchrun nodes and processes.
std::optional<std::int64_t> launched_gpus(MegatronFlags& args, Imported& out);

// The generation side: slime and miles generate with SGLang.
void read_slime_rollout(MegatronFlags& args, std::optional<std::int64_t> training, Imported& out);

}  // namespace refit
