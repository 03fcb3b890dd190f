#include <fmt/format.h>

#include "models/import/hf_attention.h"
#include "models/import/hf_families.h"
#include "models/import/hf_feed_forward.h"
#include "models/import/hf_moe_shape.h"
#include "models/import/hf_mtp.h"
#include "models/import/hf_recurrent.h"

namespace refit {
namespace {

// 1-based in this configuration, unlike anywhere else. True: delta attention; false: latent.
std::vector<bool> read_kda_layers(const HfKeys& linear, int layers) {
  std::vector<int> kind(static_cast<std::size_t>(layers), 0);
  int mark = 0;
  for (const char* key : {"kda_layers", "full_attn_layers"}) {
    ++mark;
    for (const std::int64_t layer : linear.integers(key, 1, layers)) {
      int& seen = kind[static_cast<std::size_t>(layer - 1)];
      if (seen != 0) linear.fail(key, fmt::format("layer {} (counted from 1) stands twice", layer));
      seen = mark;
    }
  }
  std::vector<bool> kda;
  for (std::size_t layer = 0; layer < kind.size(); ++layer) {
    if (kind[layer] == 0) {
      linear.fail("kda_layers", fmt::format("layer {} (counted from 1) stands neither here nor in "
                                            "full_attn_layers",
                                            layer + 1));
    }
    kda.push_back(kind[layer] == 1);
  }
  return kda;
}

}  // namespace

void list_kimi_k3(HfModel& model) {
  const HfKeys& keys = model.keys;
  MoeShape moe = read_mixed_moe(model);
  moe.latent = keys.size("routed_expert_hidden_size");
  moe.latent_norm = keys.flag("latent_moe_use_norm", false);
  moe.correction_bias = true;

  MlaShape mla = read_mla(keys);
  mla.output_gate = keys.flag("mla_use_output_gate", false);
  const HfKeys linear = keys.object("linear_attn_config");
  const KdaShape kda = read_kda(linear, model.spec.hidden);
  const std::vector<bool> is_kda = read_kda_layers(linear, model.spec.layers);

  const MoeNames moe_names = {.expert = {.gate = "w1", .up = "w3", .down = "w2"},
                              .latent_down = "routed_expert_down_proj.weight",
                              .latent_norm = "routed_expert_norm.weight",
                              .latent_up = "routed_expert_up_proj.weight"};

  model.spec.heads = head_groups(mla);
  model.spec.linear_heads.heads = static_cast<int>(kda.heads);
  if (read_mtp_count(model, "num_nextn_predict_layers") > 0) {
    keys.fail("num_nextn_predict_layers",
              "prediction modules of this architecture are not known; only 0 is");
  }

  // Attention over residuals: each part of a layer weighs the outputs of earlier blocks.
  const auto add_residual_attention = [&](std::string_view name, const TensorScope& at,
                                          const char* part = "") {
    const TensorDim hidden = plain(model.spec.hidden);
    at.add(fmt::format("{}_norm.weight", name), {hidden}, Role::norm, part);
    at.add(fmt::format("{}_proj.weight", name), {plain(1), hidden}, Role::norm, part);
  };
  Decoder decoder;
  decoder.names = {.embedding = "language_model.model.embed_tokens.weight",
                   .layers = "language_model.model.layers.",
                   .final_norm = "language_model.model.norm.weight",
                   .head = "language_model.lm_head.weight",
                   .feed_forward = ""};
  decoder.residual = [&](int, const TensorScope& at) {
    add_residual_attention("self_attention_res", at);
    add_residual_attention("mlp_res", at);
  };
  decoder.attention = [&](int layer, const TensorScope& at) {
    if (is_kda[static_cast<std::size_t>(layer)]) return list_kda(kda, at);
    list_mla(mla, at);
  };
  const std::vector<bool> sparse = read_sparse_layers(keys, model.spec.layers);
  decoder.feed_forward = [&](int layer, const TensorScope& at) {
    if (sparse[static_cast<std::size_t>(layer)]) {
      return list_moe(moe, moe_names, at.under("block_sparse_moe."));
    }
    list_ffn({.hidden = moe.hidden, .width = keys.size("intermediate_size")}, {}, Role::dense_ffn,
             at.under("mlp."));
  };
  decoder.after_layers = [&] {
    add_residual_attention("output_attn_res",
                           TensorScope(model.tensors).under("language_model.model."),
                           "output_residual");
  };
  list_decoder(decoder, model);
}

}  // namespace refit
