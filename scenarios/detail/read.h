#pragma once

#include <memory>

#include "base/yaml.h"
#include "models/model_spec.h"
#include "models/parallelism.h"
#include "models/refit.h"

namespace refit::detail {

// The `training` or `generation` part of a scenario. `next_gpu` is where the side starts if it does not
// say; `gpus_in_cluster` bounds it.
std::unique_ptr<Parallelism> read_engine(const YamlNode& node, const ModelSpec& model, int next_gpu,
                                         int gpus_in_cluster);

// make_refit, with errors pinned on the key of the side that is wrong.
Refit refit_of(const ModelSpec& model, const Parallelism& training, const YamlNode& training_node,
               const Parallelism& generation, const YamlNode& generation_node, int ranks);

// The `tensors` part: layouts written out, no model needed.
Refit read_tensors(const YamlNode& node, int ranks);

}  // namespace refit::detail
