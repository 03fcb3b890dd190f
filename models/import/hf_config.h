#pragma once

#include <string>
#include <vector>

#include "models/model_spec.h"

namespace refit {

struct HfConfigOptions {
  bool mtp = false;  // list the multi-token-prediction module too, where the family ships one
  Dtype dtype = Dtype::bf16;  // of weights
  // Router correction biases and parts of recurrent layers are FP32 in released checkpoints. Off:
  // they have `dtype` like the rest, so that bytes follow from the number of parameters alone.
  bool fp32_small_tensors = false;
};

// A Hugging Face config.json to a model with every weight listed. `name` is used in messages and as
// the model's name. Error(bad_input) names the file, the key, what is wrong and what would be
// right; an unknown architecture is refused with the list of known ones.
ModelSpec parse_hf_config(const std::string& json, const std::string& name,
                          const HfConfigOptions& options = {});
ModelSpec load_hf_config(const std::string& path, const HfConfigOptions& options = {});

// The catalog compiled into the program: models/catalog/*.json.
std::vector<std::string> catalog_models();
ModelSpec catalog_model(const std::string& name, const HfConfigOptions& options = {});

}  // namespace refit
