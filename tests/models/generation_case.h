#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "models/sglang.h"
#include "tests/models/engine_case.h"

namespace refit::test {

// A tensor of a made-up model, in layer 0.
inline TensorSpec weight(std::vector<TensorDim> dims, Role role, std::string part = "") {
  TensorSpec spec;
  spec.name = "w";
  spec.dims = std::move(dims);
  spec.role = role;
  spec.part = std::move(part);
  spec.layer = 0;
  return spec;
}

inline TensorSpec without_layer(TensorSpec spec) {
  spec.layer.reset();
  return spec;
}

// [experts, rows, 3], one expert's matrix with cut rows.
inline TensorSpec expert_weight(int experts, std::int64_t rows, int layer = 0) {
  TensorSpec spec =
      weight({{experts, Axis::expert, {}}, {rows, Axis::ffn, {}}, {3, Axis::none, {}}},
             Role::routed_expert);
  spec.layer = layer;
  return spec;
}

inline ModelSpec made_up_model(int layers, int experts = 0, HeadGroups heads = {}) {
  ModelSpec model;
  model.name = "made-up";
  model.layers = layers;
  model.experts = experts;
  model.heads = heads;
  return model;
}

// The indices that a set holds, for comparing with lists made one by one.
inline std::set<std::int64_t> indices(const IntervalSet& set) {
  std::set<std::int64_t> all;
  for (const Interval& part : set.intervals()) {
    for (std::int64_t i = part.begin; i < part.end; ++i) all.insert(i);
  }
  return all;
}

}  // namespace refit::test
