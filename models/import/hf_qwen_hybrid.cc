#include <utility>

#include "models/import/hf_attention.h"
#include "models/import/hf_families.h"
#include "models/import/hf_feed_forward.h"
#include "models/import/hf_moe_shape.h"
#include "models/import/hf_mtp.h"
#include "models/import/hf_recurrent.h"

namespace refit {
namespace {

// Layers of Qwen3-Next and Qwen3.5 that look back at all tokens; the others are gated delta nets.
std::vector<bool> read_full_attention_layers(const HfKeys& keys, int layers) {
  if (!keys.has("layer_types")) {
    std::vector<bool> full;
    const std::int64_t interval = keys.integer({"full_attention_interval"}, 1, kMostLayers);
    for (int layer = 0; layer < layers; ++layer) full.push_back((layer + 1) % interval == 0);
    return full;
  }
  return read_layer_types(keys, "layer_types", layers, "full_attention", "linear_attention");
}

enum class QwenExperts { none, one_by_one, fused };

MoeShape read_qwen_moe(HfModel& model) {
  MoeShape moe = read_mixed_moe(model);
  moe.shared_width = model.keys.size("shared_expert_intermediate_size");
  moe.shared_gate = true;
  return moe;
}

void list_qwen_hybrid(DecoderNames names, QwenExperts experts, HfModel& model) {
  const HfKeys& keys = model.keys;
  const bool dense = experts == QwenExperts::none;
  if (dense) refuse_experts(keys, model.spec.architecture);
  const MoeShape moe = dense ? MoeShape{} : read_qwen_moe(model);
  if (dense) model.spec.layers = read_layer_count(keys);

  const std::vector<bool> full = read_full_attention_layers(keys, model.spec.layers);

  GqaShape attention = read_gqa(keys, HeadDim::required);
  attention.heads.gated = keys.flag("attn_output_gate", true);
  attention.qkv_bias = attention.o_bias = keys.flag("attention_bias", false);
  attention.qk_norm = GqaShape::QkNorm::per_head;
  GdnShape gdn = read_gdn(keys);
  gdn.interleaved = experts == QwenExperts::one_by_one;

  const MoeNames moe_names = {.shared = "shared_expert."};

  model.spec.heads = attention.heads;
  model.spec.linear_heads = {.heads = static_cast<int>(gdn.value_heads),
                             .key_heads = static_cast<int>(gdn.key_heads)};

  const auto list_dense = [&](const TensorScope& at) {
    list_ffn({.hidden = model.spec.hidden, .width = keys.size("intermediate_size")}, {},
             Role::dense_ffn, at);
  };
  const auto list_experts = [&](const TensorScope& at) {
    if (dense) return list_dense(at);
    if (experts == QwenExperts::one_by_one) return list_moe(moe, moe_names, at);
    list_moe_router(moe, moe_names, at);
    list_fused_experts(moe, "experts.gate_up_proj", "experts.down_proj", at);
    list_moe_shared(moe, moe_names, at);
  };

  Decoder decoder;
  decoder.names = std::move(names);
  decoder.names.attention.clear();  // the kinds of attention differ in this part of the name
  decoder.attention = [&](int layer, const TensorScope& at) {
    if (full[static_cast<std::size_t>(layer)]) return list_gqa(attention, at.under("self_attn."));
    list_gdn(gdn, at.under("linear_attn."));
  };
  const std::vector<bool> sparse = read_sparse_layers(keys, model.spec.layers);
  decoder.feed_forward = [&](int layer, const TensorScope& at) {
    if (sparse[static_cast<std::size_t>(layer)]) return list_experts(at);
    list_dense(at);
  };
  list_decoder(decoder, model);

  // A prediction module looks back at all tokens whatever the decoder's first layers do.
  Decoder module = decoder;
  module.attention = [&](int, const TensorScope& at) {
    list_gqa(attention, at.under("self_attn."));
  };
  module.feed_forward = [&](int, const TensorScope& at) { list_experts(at); };
  // Qwen3-Next ships one that its configuration does not mention.
  const int unmentioned = experts == QwenExperts::one_by_one ? 1 : 0;
  list_qwen_mtp(module, read_mtp_count(model, "mtp_num_hidden_layers", unmentioned), model);
}

}  // namespace

void list_qwen3_next(HfModel& model) { list_qwen_hybrid({}, QwenExperts::one_by_one, model); }

void list_qwen35(HfModel& model) { list_qwen_hybrid({}, QwenExperts::none, model); }

void list_qwen35_moe(HfModel& model) { list_qwen_hybrid({}, QwenExperts::fused, model); }

void list_qwen35_multimodal(HfModel& model) {
  list_qwen_hybrid(inner_names(), QwenExperts::none, model);
}

void list_qwen35_moe_multimodal(HfModel& model) {
  list_qwen_hybrid(inner_names(), QwenExperts::fused, model);
}

}  // namespace refit
