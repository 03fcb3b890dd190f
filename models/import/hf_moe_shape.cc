#include "models/import/hf_moe_shape.h"

namespace refit {

MoeShape read_uniform_moe(HfModel& model) {
  MoeShape moe;
  moe.hidden = model.spec.hidden;
  moe.experts = read_expert_count(model.keys);
  moe.expert_width = model.keys.size("intermediate_size");
  model.spec.experts = static_cast<int>(moe.experts);
  model.spec.layers = read_layer_count(model.keys);
  return moe;
}

MoeShape read_mixed_moe(HfModel& model) {
  const HfKeys& keys = model.keys;
  MoeShape moe;
  moe.hidden = model.spec.hidden;
  moe.experts = read_expert_count(keys);
  moe.expert_width = keys.size("moe_intermediate_size");
  const auto shared_experts =
      keys.find_integer({"n_shared_experts", "num_shared_experts"}, 0, kMostExperts);
  moe.shared_width = moe.expert_width * shared_experts.value_or(0);
  model.spec.experts = static_cast<int>(moe.experts);
  model.spec.layers = read_layer_count(keys);
  return moe;
}

std::vector<bool> read_sparse_layers(const HfKeys& keys, int layers) {
  const auto first = keys.find_integer({"first_k_dense_replace"}, 0, kMostLayers).value_or(0);
  const auto every = keys.find_integer({"moe_layer_freq"}, 1, kMostLayers).value_or(1);
  const auto step = keys.find_integer({"decoder_sparse_step"}, 1, kMostLayers).value_or(1);
  std::vector<bool> sparse;
  for (int layer = 0; layer < layers; ++layer) {
    sparse.push_back(layer >= first && layer % every == 0 && (layer + 1) % step == 0);
  }
  if (keys.has("mlp_layer_types")) {  // says it outright
    sparse = read_layer_types(keys, "mlp_layer_types", layers, "dense", "sparse");
    sparse.flip();
  }
  if (keys.has("mlp_only_layers")) {
    for (const std::int64_t layer : keys.integers("mlp_only_layers", 0, layers - 1)) {
      sparse[static_cast<std::size_t>(layer)] = false;
    }
  }
  return sparse;
}

LayerPart sparse_or_dense(HfModel& model, const MoeShape& moe, const MoeNames& names) {
  const std::vector<bool> sparse = read_sparse_layers(model.keys, model.spec.layers);
  return [&keys = model.keys, sparse, moe, names](int layer, const TensorScope& at) {
    const auto i = static_cast<std::size_t>(layer);
    if (i >= sparse.size() || sparse[i]) return list_moe(moe, names, at);
    // Its width is asked for only here: models without dense layers need not give one.
    list_ffn({.hidden = moe.hidden, .width = keys.size("intermediate_size")}, {}, Role::dense_ffn,
             at);
  };
}

}  // namespace refit
