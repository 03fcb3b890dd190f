#include "models/import/hf_attention.h"
#include "models/import/hf_families.h"
#include "models/import/hf_feed_forward.h"
#include "models/import/hf_moe_shape.h"
#include "models/import/hf_recurrent.h"

namespace refit {
namespace {

const MoeNames kMoeNames = {.correction_bias = "e_score_correction_bias",
                            .expert = {.gate = "w1", .up = "w3", .down = "w2"}};

MoeShape read_minimax_moe(HfModel& model) {
  model.keys.find_integer({"shared_intermediate_size"}, 0, 0);  // others of the family have some
  return read_uniform_moe(model);
}

}  // namespace

void list_minimax_m1(HfModel& model) {
  const HfKeys& keys = model.keys;
  const MoeShape moe = read_minimax_moe(model);
  const std::vector<std::int64_t> softmax = keys.integers("attn_type_list", 0, 1);
  expect_one_per_layer(keys, "attn_type_list", softmax.size(), model.spec.layers);
  const GqaShape attention = read_gqa(keys, HeadDim::required);
  const LightningShape lightning = {.hidden = attention.hidden,
                                    .heads = attention.heads.q_heads,
                                    .head_dim = attention.heads.head_dim};
  model.spec.heads = attention.heads;

  Decoder decoder;
  decoder.names.feed_forward = "block_sparse_moe.";
  decoder.attention = [&](int layer, const TensorScope& at) {
    if (softmax[static_cast<std::size_t>(layer)] == 1) return list_gqa(attention, at);
    list_lightning(lightning, at);
  };
  decoder.feed_forward = [&](int, const TensorScope& at) { list_moe(moe, kMoeNames, at); };
  list_decoder(decoder, model);
}

void list_minimax_m2(HfModel& model) {
  MoeShape moe = read_minimax_moe(model);
  moe.correction_bias = model.keys.flag("use_routing_bias", false);
  if (model.keys.has("attn_type_list")) {  // 1 is softmax attention, and this family has no other
    expect_one_per_layer(model.keys, "attn_type_list",
                         model.keys.integers("attn_type_list", 1, 1).size(), model.spec.layers);
  }
  GqaShape attention = read_gqa(model.keys, HeadDim::required);
  if (model.keys.flag("use_qk_norm", false)) attention.qk_norm = GqaShape::QkNorm::full_width;
  model.spec.heads = attention.heads;

  // Configurations declare prediction modules (num_mtp_modules), but checkpoints hold none.
  Decoder decoder;
  decoder.names.feed_forward = "block_sparse_moe.";
  decoder.attention = [&](int, const TensorScope& at) { list_gqa(attention, at); };
  decoder.feed_forward = [&](int, const TensorScope& at) { list_moe(moe, kMoeNames, at); };
  list_decoder(decoder, model);
}

}  // namespace refit
