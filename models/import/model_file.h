#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/import/hf_config.h"
#include "models/model_spec.h"

namespace refit {

// A model from any file that says enough: a Hugging Face config.json, the model JSON of NCCL M2N,
// or the header of a .safetensors file; of a checkpoint in several such files, its index (the files
// must lie beside it, their data is not read). Options apply to config.json only. Error(bad_input)
// names what is wrong; Error(environment) if it can't be read.
ModelSpec load_model(const std::string& path, const HfConfigOptions& options = {});

// What a model.safetensors.index.json says: names, and perhaps bytes.
struct CheckpointIndex {
  std::vector<std::string> names;  // sorted
  std::optional<std::int64_t> total_bytes;
  std::size_t files = 0;
};
CheckpointIndex parse_checkpoint_index(const std::string& text, const std::string& where);

// Where an index and a model disagree, in sentences; empty if the index lists the model's tensors
// and bytes.
std::vector<std::string> differences(const CheckpointIndex& index, const ModelSpec& model);

}  // namespace refit
