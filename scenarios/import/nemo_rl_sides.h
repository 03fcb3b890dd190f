#pragma once

#include "scenarios/import/hydra_config.h"
#include "scenarios/import/imported.h"

namespace refit {

// The keys of `training` and of `generation` that a NeMo RL recipe says, without the GPUs.
void read_nemo_rl_training(HydraConfig& recipe, Imported& out);
void read_nemo_rl_generation(HydraConfig& recipe, Imported& out);

}  // namespace refit
