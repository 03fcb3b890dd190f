#include "models/import/hf_attention.h"
#include "models/import/hf_families.h"
#include "models/import/hf_feed_forward.h"

namespace refit {
namespace {

void list_dense(const GqaShape& attention, HfModel& model) {
  const HfKeys& keys = model.keys;
  refuse_experts(keys, model.spec.architecture);
  model.spec.layers = read_layer_count(keys);
  model.spec.heads = attention.heads;
  const FfnShape ffn = {.hidden = attention.hidden,
                        .width = keys.size("intermediate_size"),
                        .bias = keys.flag("mlp_bias", false)};

  Decoder decoder;
  decoder.attention = [&](int, const TensorScope& at) { list_gqa(attention, at); };
  decoder.feed_forward = [&](int, const TensorScope& at) {
    list_ffn(ffn, {}, Role::dense_ffn, at);
  };
  list_decoder(decoder, model);
}

}  // namespace

void list_llama(HfModel& model) {
  GqaShape attention = read_gqa(model.keys, HeadDim::hidden_over_heads);
  attention.qkv_bias = attention.o_bias = model.keys.flag("attention_bias", false);
  list_dense(attention, model);
}

void list_qwen2(HfModel& model) {
  GqaShape attention = read_gqa(model.keys, HeadDim::hidden_over_heads);
  attention.qkv_bias = true;  // always, and no key says so
  list_dense(attention, model);
}

void list_qwen3(HfModel& model) {
  GqaShape attention = read_gqa(model.keys, HeadDim::required);
  attention.qkv_bias = attention.o_bias = model.keys.flag("attention_bias", false);
  attention.qk_norm = GqaShape::QkNorm::per_head;
  list_dense(attention, model);
}

}  // namespace refit
