#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/model_spec.h"
#include "models/refit.h"

namespace refit {

// A colour per rank: what it holds of some tensors. Ranks of one colour hold the same.
struct ShardMap {
  std::vector<int> label_of_rank;   // by rank from 0 on; -1: holds nothing
  std::vector<std::string> labels;  // "layers 0-2", "experts 0-15"; numbered as the ranks come

  friend bool operator==(const ShardMap&, const ShardMap&) = default;
};

// One side of a kind of tensors. Each map looks at one way to divide them; indices into
// LayoutPicture::maps.
struct ShardMaps {
  int layers = -1;   // which of the kind's tensors: pipeline stages
  int experts = -1;  // which experts of a layer; -1: these are no experts
  int part = -1;     // which rows and columns of a tensor; -1: nothing cuts them
};

// Tensors with the same name but for numbers, and the same role.
struct TensorKind {
  std::string name;  // "model.layers.{}.mlp.experts.{}.up_proj.weight"
  Role role = Role::unspecified;
  std::vector<std::int64_t> shape;  // of the first tensor, experts of a layer as one
  std::int64_t bytes = 0;           // of all tensors, one copy
  ShardMaps source, destination;
};

// Which rank holds which part of the model, on both sides. Equal maps are stored once.
struct LayoutPicture {
  std::vector<ShardMap> maps;
  std::vector<TensorKind> kinds;  // the largest first
  std::size_t left_out = 0;       // smaller kinds
};

inline constexpr std::size_t kMostTensorKinds = 48;

// `model`: whose tensors the refit's classes are made of; null if there is none.
LayoutPicture layout_picture(const Refit& refit, const ModelSpec* model);

}  // namespace refit
