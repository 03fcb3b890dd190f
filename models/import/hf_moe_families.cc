#include "models/import/hf_attention.h"
#include "models/import/hf_families.h"
#include "models/import/hf_feed_forward.h"
#include "models/import/hf_moe_shape.h"
#include "models/import/hf_mtp.h"

namespace refit {

void list_mixtral(HfModel& model) {
  const MoeShape moe = read_uniform_moe(model);
  const GqaShape attention = read_gqa(model.keys, HeadDim::hidden_over_heads);
  model.spec.heads = attention.heads;

  Decoder decoder;
  decoder.names.feed_forward = "block_sparse_moe.";
  decoder.attention = [&](int, const TensorScope& at) { list_gqa(attention, at); };
  decoder.feed_forward = [&](int, const TensorScope& at) {
    list_moe(moe, {.expert = {.gate = "w1", .up = "w3", .down = "w2"}}, at);
  };
  list_decoder(decoder, model);
}

void list_granite_moe(HfModel& model) {
  const MoeShape moe = read_uniform_moe(model);
  GqaShape attention = read_gqa(model.keys, HeadDim::hidden_over_heads);
  attention.qkv_bias = attention.o_bias = model.keys.flag("attention_bias", false);
  model.spec.heads = attention.heads;

  Decoder decoder;
  decoder.names.feed_forward = "block_sparse_moe.";
  decoder.attention = [&](int, const TensorScope& at) { list_gqa(attention, at); };
  decoder.feed_forward = [&](int, const TensorScope& at) {
    list_moe_router(moe, {.router = "router.layer.weight"}, at);
    list_fused_experts(moe, "input_linear.weight", "output_linear.weight", at);
  };
  list_decoder(decoder, model);
}

void list_olmoe(HfModel& model) {
  const MoeShape moe = read_uniform_moe(model);
  GqaShape attention = read_gqa(model.keys, HeadDim::hidden_over_heads);
  attention.qkv_bias = attention.o_bias = model.keys.flag("attention_bias", false);
  attention.qk_norm = GqaShape::QkNorm::full_width;
  model.spec.heads = attention.heads;

  Decoder decoder;
  decoder.attention = [&](int, const TensorScope& at) { list_gqa(attention, at); };
  decoder.feed_forward = [&](int, const TensorScope& at) { list_moe(moe, {}, at); };
  list_decoder(decoder, model);
}

void list_qwen2_moe(HfModel& model) {
  MoeShape moe = read_mixed_moe(model);
  moe.shared_width = model.keys.size("shared_expert_intermediate_size");
  moe.shared_gate = true;
  GqaShape attention = read_gqa(model.keys, HeadDim::hidden_over_heads);
  attention.qkv_bias = model.keys.flag("qkv_bias", true);
  model.spec.heads = attention.heads;

  Decoder decoder;
  decoder.attention = [&](int, const TensorScope& at) { list_gqa(attention, at); };
  decoder.feed_forward = sparse_or_dense(model, moe, {.shared = "shared_expert."});
  list_decoder(decoder, model);
}

namespace {

GqaShape qwen3_attention(HfModel& model) {
  GqaShape attention = read_gqa(model.keys, HeadDim::required);
  attention.qkv_bias = attention.o_bias = model.keys.flag("attention_bias", false);
  attention.qk_norm = GqaShape::QkNorm::per_head;
  model.spec.heads = attention.heads;
  return attention;
}

}  // namespace

void list_qwen3_moe(HfModel& model) {
  const MoeShape moe = read_mixed_moe(model);
  const GqaShape attention = qwen3_attention(model);

  Decoder decoder;
  decoder.attention = [&](int, const TensorScope& at) { list_gqa(attention, at); };
  decoder.feed_forward = sparse_or_dense(model, moe);
  list_decoder(decoder, model);
}

void list_qwen3_vl_moe(HfModel& model) {
  const MoeShape moe = read_mixed_moe(model);
  const GqaShape attention = qwen3_attention(model);
  const std::vector<bool> sparse = read_sparse_layers(model.keys, model.spec.layers);

  Decoder decoder;
  decoder.names = inner_names();
  decoder.attention = [&](int, const TensorScope& at) { list_gqa(attention, at); };
  decoder.feed_forward = [&](int layer, const TensorScope& at) {
    if (!sparse[static_cast<std::size_t>(layer)])
      return list_ffn({.hidden = moe.hidden, .width = model.keys.size("intermediate_size")}, {},
                      Role::dense_ffn, at);
    list_moe_router(moe, {}, at);
    list_in_out_experts(moe, at.under("experts."));
  };
  list_decoder(decoder, model);
}

void list_dots1(HfModel& model) {
  MoeShape moe = read_mixed_moe(model);
  moe.correction_bias = true;
  const GqaShape attention = qwen3_attention(model);

  Decoder decoder;
  decoder.attention = [&](int, const TensorScope& at) { list_gqa(attention, at); };
  decoder.feed_forward = sparse_or_dense(model, moe);
  list_decoder(decoder, model);
}

// Its keys have names of their own. Prediction modules are left out of the library that reads it.
void list_ernie45_moe(HfModel& model) {
  const HfKeys& keys = model.keys;
  keys.expect_flag("use_bias", false);
  MoeShape moe;
  moe.hidden = model.spec.hidden;
  moe.experts = keys.integer({"moe_num_experts"}, 1, kMostExperts);
  moe.expert_width = keys.size("moe_intermediate_size");
  moe.shared_width =
      moe.expert_width * keys.find_integer({"moe_num_shared_experts"}, 0, kMostExperts).value_or(0);
  moe.correction_bias = keys.flag("moe_use_aux_free", true);
  model.spec.experts = static_cast<int>(moe.experts);
  model.spec.layers = read_layer_count(keys);
  const GqaShape attention = read_gqa(keys, HeadDim::hidden_over_heads);
  model.spec.heads = attention.heads;

  const auto first = keys.find_integer({"moe_layer_start_index"}, 0, kMostLayers).value_or(0);
  const auto end = keys.find_integer({"moe_layer_end_index"}, -1, kMostLayers).value_or(-1);
  const auto last = end < 0 ? model.spec.layers - 1 : end;
  const auto every = keys.find_integer({"moe_layer_interval"}, 1, kMostLayers).value_or(1);
  const MoeNames names = {.correction_bias = "moe_statics.e_score_correction_bias"};

  Decoder decoder;
  decoder.attention = [&](int, const TensorScope& at) { list_gqa(attention, at); };
  decoder.feed_forward = [&](int layer, const TensorScope& at) {
    if (layer >= first && layer <= last && (layer + 1) % every == 0)
      return list_moe(moe, names, at);
    list_ffn({.hidden = moe.hidden, .width = keys.size("intermediate_size")}, {}, Role::dense_ffn,
             at);
  };
  list_decoder(decoder, model);
}

namespace {

// Layers that choose their own tokens; the others take those of the layer before.
std::vector<bool> read_indexed_layers(const HfKeys& keys, int layers) {
  if (!keys.has("indexer_types")) {
    const bool shares = keys.find_integer({"index_topk_freq"}, 1, kMostLayers).value_or(1) > 1;
    if (shares) keys.fail_missing({"indexer_types"});
    return std::vector<bool>(static_cast<std::size_t>(layers), true);
  }
  return read_layer_types(keys, "indexer_types", layers, "full", "shared");
}

void list_deepseek(bool correction_bias, HfModel& model, bool sparse_attention = false,
                   const DecoderNames& names = {}) {
  MoeShape moe = read_mixed_moe(model);
  moe.correction_bias = correction_bias;
  MlaShape attention = read_mla(model.keys);
  attention.bias = model.keys.flag("attention_bias", false);
  model.spec.heads = head_groups(attention);
  IndexerShape indexer;
  std::vector<bool> indexed;
  if (sparse_attention) {
    if (attention.q_rank == 0) model.keys.fail_missing({"q_lora_rank"});
    indexer = read_indexer(model.keys);
    indexed = read_indexed_layers(model.keys, model.spec.layers);
  }

  Decoder decoder;
  decoder.names = names;
  decoder.attention = [&](int layer, const TensorScope& at) {
    list_mla(attention, at);
    const auto i = static_cast<std::size_t>(layer);
    if (sparse_attention && (i >= indexed.size() || indexed[i]))
      list_indexer(indexer, attention, at);
  };
  decoder.feed_forward = sparse_or_dense(model, moe);
  list_decoder(decoder, model);
  list_appended_mtp(decoder, read_mtp_count(model, "num_nextn_predict_layers"),
                    "shared_head.norm.weight", model);
}

}  // namespace

void list_deepseek_v2(HfModel& model) { list_deepseek(false, model); }

void list_deepseek_v3(HfModel& model) { list_deepseek(true, model); }

void list_deepseek_v32(HfModel& model) { list_deepseek(true, model, true); }

void list_kimi_k25(HfModel& model) { list_deepseek(true, model, false, wrapped_names()); }

void list_glm4_moe(HfModel& model) {
  MoeShape moe = read_mixed_moe(model);
  moe.correction_bias = true;
  GqaShape attention = read_gqa(model.keys, HeadDim::required);
  attention.qkv_bias = model.keys.flag("attention_bias", false);  // the output projection has none
  if (model.keys.flag("use_qk_norm", false)) attention.qk_norm = GqaShape::QkNorm::per_head;
  model.spec.heads = attention.heads;

  Decoder decoder;
  decoder.attention = [&](int, const TensorScope& at) { list_gqa(attention, at); };
  decoder.feed_forward = sparse_or_dense(model, moe);
  list_decoder(decoder, model);
  list_appended_mtp(decoder, read_mtp_count(model, "num_nextn_predict_layers"),
                    "shared_head.norm.weight", model);
}

void list_gpt_oss(HfModel& model) {
  const MoeShape moe = read_uniform_moe(model);
  GqaShape attention = read_gqa(model.keys, HeadDim::required);
  attention.qkv_bias = attention.o_bias = model.keys.flag("attention_bias", true);
  attention.sinks = true;
  model.spec.heads = attention.heads;

  Decoder decoder;
  decoder.attention = [&](int, const TensorScope& at) { list_gqa(attention, at); };
  decoder.feed_forward = [&](int, const TensorScope& at) {
    list_moe_router(moe, {.router = "router.weight"}, at);
    at.add("router.bias", {plain(moe.experts)}, Role::router, "router_bias");
    list_transposed_experts(moe, at.under("experts."));
  };
  list_decoder(decoder, model);
}

void list_bailing_moe(HfModel& model) {
  MoeShape moe = read_mixed_moe(model);
  moe.correction_bias = model.keys.flag("moe_router_enable_expert_bias", false);
  moe.shared_width = model.keys.find_integer({"moe_shared_expert_intermediate_size"}, 1, kMostSize)
                         .value_or(moe.shared_width);
  model.keys.expect_flag("use_bias", false);
  GqaShape attention = read_gqa(model.keys, HeadDim::required);
  attention.qkv_bias = model.keys.flag("use_qkv_bias", false);
  if (model.keys.flag("use_qk_norm", false)) attention.qk_norm = GqaShape::QkNorm::per_head;
  model.spec.heads = attention.heads;

  Decoder decoder;
  decoder.names.embedding = "model.word_embeddings.weight";
  decoder.names.attention = "attention.";
  decoder.attention = [&](int, const TensorScope& at) { list_fused_gqa(attention, {}, at); };
  decoder.feed_forward = sparse_or_dense(model, moe, {.correction_bias = "gate.expert_bias"});
  list_decoder(decoder, model);
  list_appended_mtp(decoder, read_mtp_count(model, "num_nextn_predict_layers"),
                    "final_layernorm.weight", model);
}

}  // namespace refit
