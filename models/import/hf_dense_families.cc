#include <fmt/format.h>

#include "models/import/hf_attention.h"
#include "models/import/hf_families.h"
#include "models/import/hf_feed_forward.h"
#include "models/import/hf_mtp.h"

namespace refit {
namespace {

void list_dense(const GqaShape& attention, HfModel& model, const DecoderNames& names = {},
                int modules = 0) {
  const HfKeys& keys = model.keys;
  refuse_experts(keys, model.spec.architecture);
  model.spec.layers = read_layer_count(keys);
  model.spec.heads = attention.heads;
  const FfnShape ffn = {.hidden = attention.hidden,
                        .width = keys.size("intermediate_size"),
                        .bias = keys.flag("mlp_bias", false)};

  Decoder decoder;
  decoder.names = names;
  decoder.attention = [&](int, const TensorScope& at) { list_gqa(attention, at); };
  decoder.feed_forward = [&](int, const TensorScope& at) {
    list_ffn(ffn, {}, Role::dense_ffn, at);
  };
  list_decoder(decoder, model);
  if (modules > 0) list_mimo_mtp(decoder, modules, model);
}

// Feed-forward networks that have gate and up in one matrix, one behind the other.
void list_dense_fused(const LayerPart& attention, const DecoderNames& names, HfModel& model) {
  const HfKeys& keys = model.keys;
  refuse_experts(keys, model.spec.architecture);
  model.spec.layers = read_layer_count(keys);
  const std::int64_t width = keys.integer({"intermediate_size"}, 1, kMostSize / 2);

  Decoder decoder;
  decoder.names = names;
  decoder.attention = attention;
  decoder.feed_forward = [&](int, const TensorScope& at) {
    const TensorDim hidden = plain(model.spec.hidden);
    at.add("gate_up_proj.weight", {ffn_width(2 * width, {width, width}), hidden}, Role::dense_ffn,
           "gate_up");
    at.add("down_proj.weight", {hidden, ffn_width(width)}, Role::dense_ffn, "down");
  };
  list_decoder(decoder, model);
}

GqaShape llama_attention(const HfKeys& keys) {
  GqaShape attention = read_gqa(keys, HeadDim::hidden_over_heads);
  attention.qkv_bias = attention.o_bias = keys.flag("attention_bias", false);
  return attention;
}

GqaShape qwen2_attention(const HfKeys& keys) {
  GqaShape attention = read_gqa(keys, HeadDim::hidden_over_heads);
  attention.qkv_bias = true;  // always, and no key says so
  return attention;
}

GqaShape qwen3_attention(const HfKeys& keys) {
  GqaShape attention = read_gqa(keys, HeadDim::required);
  attention.qkv_bias = attention.o_bias = keys.flag("attention_bias", false);
  attention.qk_norm = GqaShape::QkNorm::per_head;
  return attention;
}

// Norms before and behind each part.
DecoderNames sandwiched(DecoderNames names) {
  names.after_attention = {"post_attention_layernorm"};
  names.before_feed_forward = {"pre_feedforward_layernorm"};
  names.after_feed_forward = {"post_feedforward_layernorm"};
  return names;
}

// Keys that are left out have the family's values for its 4B model.
GqaShape gemma3_attention(const HfKeys& keys) {
  GqaShape attention;
  attention.hidden = keys.size("hidden_size");
  const auto heads = keys.find_integer({"num_attention_heads"}, 1, kMostHeads).value_or(8);
  const auto groups = keys.find_integer({"num_key_value_heads"}, 1, kMostHeads).value_or(4);
  if (heads % groups != 0)
    keys.fail(
        "num_key_value_heads",
        fmt::format("{} does not divide {} query heads (num_attention_heads)", groups, heads));
  attention.heads = {.q_heads = static_cast<int>(heads),
                     .kv_heads = static_cast<int>(groups),
                     .head_dim = static_cast<int>(
                         keys.find_integer({"head_dim"}, 1, kMostSize - 1).value_or(256))};
  attention.qkv_bias = attention.o_bias = keys.flag("attention_bias", false);
  attention.qk_norm = GqaShape::QkNorm::per_head;
  return attention;
}

}  // namespace

void list_llama(HfModel& model) { list_dense(llama_attention(model.keys), model); }

void list_mistral3(HfModel& model) {
  list_dense(llama_attention(model.keys), model, wrapped_names());
}

void list_qwen2(HfModel& model) { list_dense(qwen2_attention(model.keys), model); }

// Its checkpoints name the text part as Qwen2 does.
void list_qwen25_vl(HfModel& model) { list_dense(qwen2_attention(model.keys), model); }

void list_qwen3(HfModel& model) { list_dense(qwen3_attention(model.keys), model); }

void list_qwen3_vl(HfModel& model) {
  list_dense(qwen3_attention(model.keys), model, inner_names());
}

void list_mimo(HfModel& model) {
  list_dense(qwen2_attention(model.keys), model, {},
             read_mtp_count(model, "num_nextn_predict_layers"));
}

void list_seed_oss(HfModel& model) {
  GqaShape attention = read_gqa(model.keys, HeadDim::required);
  attention.qkv_bias = model.keys.flag("attention_bias", true);
  attention.o_bias = model.keys.flag("attention_out_bias", false);
  list_dense(attention, model);
}

void list_glm4(HfModel& model) {
  GqaShape attention = read_gqa(model.keys, HeadDim::required);
  attention.qkv_bias = model.keys.flag("attention_bias", true);
  model.spec.heads = attention.heads;
  DecoderNames names;
  names.after_attention = {"post_self_attn_layernorm"};
  names.after_feed_forward = {"post_mlp_layernorm"};
  list_dense_fused([&](int, const TensorScope& at) { list_gqa(attention, at); }, names, model);
}

void list_phi3(HfModel& model) {
  const GqaShape attention = read_gqa(model.keys, HeadDim::hidden_over_heads);
  model.spec.heads = attention.heads;
  list_dense_fused(
      [&](int, const TensorScope& at) {
        list_fused_gqa(attention, {.qkv = "qkv_proj", .o = "o_proj"}, at);
      },
      {}, model);
}

void list_olmo2(HfModel& model) {
  GqaShape attention = llama_attention(model.keys);
  attention.qk_norm = GqaShape::QkNorm::full_width;
  DecoderNames names = sandwiched({});
  names.before_attention = names.before_feed_forward = {};
  list_dense(attention, model, names);
}

void list_gemma2(HfModel& model) {
  GqaShape attention = read_gqa(model.keys, HeadDim::required);
  attention.qkv_bias = attention.o_bias = model.keys.flag("attention_bias", false);
  list_dense(attention, model, sandwiched({}));
}

void list_gemma3(HfModel& model) {
  list_dense(gemma3_attention(model.keys), model, sandwiched({}));
}

void list_gemma3_multimodal(HfModel& model) {
  list_dense(gemma3_attention(model.keys), model, sandwiched(wrapped_names()));
}

}  // namespace refit
