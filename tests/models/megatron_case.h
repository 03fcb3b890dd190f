#pragma once

#include <optional>
#include <string>

#include "models/megatron.h"
#include "tests/models/engine_case.h"

namespace refit::test {

inline ModelSpec small_model(int layers, int experts = 0, HeadGroups heads = {}) {
  ModelSpec model;
  model.name = "small";
  model.layers = layers;
  model.experts = experts;
  model.heads = heads;
  return model;
}

inline MegatronOptions degrees(int gpus, int tensor, int context, int pipeline, int expert = 1,
                               std::optional<int> expert_tensor = std::nullopt) {
  MegatronOptions options;
  options.gpus = gpus;
  options.tensor = tensor;
  options.context = context;
  options.pipeline = pipeline;
  options.expert = expert;
  options.expert_tensor = expert_tensor;
  return options;
}

inline std::string refusal_of(const ModelSpec& model, const MegatronOptions& options) {
  return refusal([&] { megatron(model, options); });
}

}  // namespace refit::test
