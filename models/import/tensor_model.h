#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/model_spec.h"

namespace refit {

// A tensor as a checkpoint names it, nothing more.
struct ListedTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  Dtype dtype = Dtype::bf16;
};

// A model from the names and shapes of its tensors, for the names that most families share: q, k,
// v, o and latent attention; gate, up, down (w1, w3, w2), experts one by one, shared experts;
// norms, router, embedding, head. What no name tells is found where shapes do: the size of a head
// is that of q_norm. Block scales are tensors of their own, and whole on every rank that has the
// expert. Error(bad_input) names tensors whose place no rule knows: a config.json knows more.
ModelSpec model_of_tensors(const std::vector<ListedTensor>& tensors, const std::string& where);

// The model JSON of NCCL M2N's reshard_model_bench: {name: {shape: [...], dtype: "BF16"}}.
ModelSpec parse_m2n_model(const std::string& json, const std::string& where);

}  // namespace refit
