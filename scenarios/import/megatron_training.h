#pragma once

#include "scenarios/import/imported.h"
#include "scenarios/import/megatron_flags.h"
#include "scenarios/import/megatron_model.h"

namespace refit {

// The training side as Megatron's flags have it, but its ranks.
void read_megatron_training(MegatronFlags& args, const MegatronNumbers& numbers, Imported& out);

}  // namespace refit
