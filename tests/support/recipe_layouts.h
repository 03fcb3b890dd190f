#pragma once

#include <span>
#include <string>

#include "models/model_spec.h"

namespace refit::test {

struct RecipeTraining {
  std::string engine;
  int gpus = 0, tensor = 1, context = 1, pipeline = 1, expert = 1;
  // Decoder layers of the first and last stage, for models of so many; 0: even stages.
  int first_stage = 0, last_stage = 0, of_layers = 0;
};

struct RecipeGeneration {
  std::string engine;
  int gpus = 0, tensor = 1, expert = 1;
  std::string precision = "bf16";
};

// The two layouts of one of NeMo RL's example recipes. Experts are never cut while training (its
// recipes set expert tensor parallelism to 1), and no engine that generates has stages.
struct RecipeLayouts {
  std::string model;  // of the catalog; empty: the recipe's is not there
  RecipeTraining training;
  RecipeGeneration generation;
  bool colocated = false;  // both sides on the same GPUs

  int ranks() const;
  std::string name() const;  // "megatron 16 TP2 EP8 -> megatron 16 TP4 EP4, colocated"
};

// Each pair once.
std::span<const RecipeLayouts> recipe_layouts();

// The recipe as a scenario of another model, on as many H100 nodes as it needs. Dense models leave
// out the degrees of experts; a model of another number of layers has stages as even as can be.
std::string scenario_of(const RecipeLayouts& recipe, const ModelSpec& model);

}  // namespace refit::test
