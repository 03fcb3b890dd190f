#pragma once

#include "scenarios/import/hydra_config.h"
#include "scenarios/import/imported.h"

namespace refit {

// The two sides of a NeMo RL recipe: cluster, policy.megatron_cfg or policy.dtensor_cfg, and
// policy.generation, by the rules of NeMo RL for who gets which GPUs. Settings that look as if they
// concern layouts and are not understood are in `left_out`. Error(bad_input) names the key.
Imported read_nemo_rl(HydraConfig& recipe, const std::string& file);

// The file with its chain, and "a.b=c" words on top.
Imported load_nemo_rl(const std::string& path, const std::vector<std::string>& overrides);

}  // namespace refit
