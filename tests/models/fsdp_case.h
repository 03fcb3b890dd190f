#pragma once

#include <string>
#include <vector>

#include "models/fsdp.h"
#include "models/megatron_fsdp.h"
#include "tests/models/engine_case.h"
#include "tests/models/row_cuts.h"

namespace refit::test {

inline TensorSpec layer_tensor(std::vector<TensorDim> dims, Role role = Role::dense_ffn,
                               std::string part = "") {
  TensorSpec spec;
  spec.name = "w";
  spec.dims = std::move(dims);
  spec.role = role;
  spec.part = std::move(part);
  spec.layer = 0;
  return spec;
}

// A model of one layer: 16 query heads, 8 experts.
inline ModelSpec one_layer(std::vector<TensorSpec> tensors = {}, int kv_heads = 16) {
  ModelSpec model;
  model.name = "small";
  model.layers = 1;
  model.experts = 8;
  model.heads = {.q_heads = 16, .kv_heads = kv_heads, .head_dim = 4};
  model.tensors = std::move(tensors);
  return model;
}

inline FsdpOptions fsdp_on(int gpus, int replicate = 1, int tensor = 1, int context = 1) {
  FsdpOptions options;
  options.gpus = gpus;
  options.replicate = replicate;
  options.tensor = tensor;
  options.context = context;
  return options;
}

inline AutomodelOptions automodel_on(int gpus, int expert = 1, int replicate = 1, int context = 1) {
  AutomodelOptions options;
  options.gpus = gpus;
  options.expert = expert;
  options.replicate = replicate;
  options.context = context;
  return options;
}

inline MegatronFsdpOptions flat_on(int gpus, int expert = 1, int tensor = 1, int replicate = 1) {
  MegatronFsdpOptions options;
  options.gpus = gpus;
  options.expert = expert;
  options.expert_tensor = 1;
  options.tensor = tensor;
  options.replicate = replicate;
  return options;
}

inline Interval from_to(std::int64_t begin, std::int64_t end) { return {begin, end}; }

}  // namespace refit::test
