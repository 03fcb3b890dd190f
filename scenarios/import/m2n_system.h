#pragma once

#include <string>

#include "scenarios/import/imported.h"

namespace refit {

// The system JSON of NCCL M2N's reshard_model_bench: `train` and `generation` with num_gpus,
// tp_size, cp_size, ep_size, pp_size, dp_size, fsdp_size. Read as the bench reads it: experts of
// training are whole, dp_size of training and fsdp_size count for nothing; where they contradict
// num_gpus, that is said. Error(bad_input) names the key.
Imported read_m2n_system(const std::string& json, const std::string& file,
                         const ImportAnswers& answers);

}  // namespace refit
