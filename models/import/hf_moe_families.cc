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

void list_qwen3_moe(HfModel& model) {
  const MoeShape moe = read_mixed_moe(model);
  GqaShape attention = read_gqa(model.keys, HeadDim::required);
  attention.qkv_bias = attention.o_bias = model.keys.flag("attention_bias", false);
  attention.qk_norm = GqaShape::QkNorm::per_head;
  model.spec.heads = attention.heads;

  Decoder decoder;
  decoder.attention = [&](int, const TensorScope& at) { list_gqa(attention, at); };
  decoder.feed_forward = sparse_or_dense(model, moe);
  list_decoder(decoder, model);
}

namespace {

void list_deepseek(bool correction_bias, HfModel& model) {
  MoeShape moe = read_mixed_moe(model);
  moe.correction_bias = correction_bias;
  MlaShape attention = read_mla(model.keys);
  attention.bias = model.keys.flag("attention_bias", false);
  model.spec.heads = head_groups(attention);

  Decoder decoder;
  decoder.attention = [&](int, const TensorScope& at) { list_mla(attention, at); };
  decoder.feed_forward = sparse_or_dense(model, moe);
  list_decoder(decoder, model);
  list_appended_mtp(decoder, read_mtp_count(model, "num_nextn_predict_layers"),
                    "shared_head.norm.weight", model);
}

}  // namespace

void list_deepseek_v2(HfModel& model) { list_deepseek(false, model); }

void list_deepseek_v3(HfModel& model) { list_deepseek(true, model); }

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
  decoder.attention = [&](int, const TensorScope& at) { list_fused_gqa(attention, at); };
  decoder.feed_forward = sparse_or_dense(model, moe, {.correction_bias = "gate.expert_bias"});
  list_decoder(decoder, model);
  list_appended_mtp(decoder, read_mtp_count(model, "num_nextn_predict_layers"),
                    "final_layernorm.weight", model);
}

}  // namespace refit
