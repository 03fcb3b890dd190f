#include "models/import/hf_recurrent.h"

namespace refit {
namespace {

constexpr Role kRole = Role::linear_attention;
constexpr auto kFp32 = TensorScope::Precision::fp32;

// Factors of a width: small enough that any two multiply to a width that can be checked.
constexpr std::int64_t kMostHeadDim = 65'536;
constexpr std::int64_t kMostKernel = 1'024;

}  // namespace

Mamba2Shape read_mamba2(const HfKeys& keys) {
  Mamba2Shape shape;
  shape.hidden = keys.size("hidden_size");
  shape.heads = keys.integer({"mamba_num_heads"}, 1, kMostHeads);
  shape.head_dim = keys.integer({"mamba_head_dim"}, 1, kMostHeadDim);
  shape.groups = keys.integer({"n_groups"}, 1, kMostHeads);
  shape.state = keys.integer({"ssm_state_size"}, 1, kMostHeadDim);
  shape.conv_kernel = keys.integer({"conv_kernel"}, 1, kMostKernel);
  shape.conv_bias = keys.flag("use_conv_bias", true);
  keys.expect_flag("use_bias", false);
  keys.expect_flag("mamba_proj_bias", false);
  return shape;
}

void list_mamba2(const Mamba2Shape& shape, const TensorScope& at) {
  const std::int64_t inner = shape.heads * shape.head_dim;
  const std::int64_t state = shape.groups * shape.state;
  const TensorDim z_x_b_c_dt =
      q_heads(2 * inner + 2 * state + shape.heads, {inner, inner, state, state, shape.heads});
  const TensorDim x_b_c = q_heads(inner + 2 * state, {inner, state, state});
  const TensorDim heads = q_heads(shape.heads);

  at.add("A_log", {heads}, kRole, "A_log", kFp32);
  at.add("D", {heads}, kRole, "D", kFp32);
  at.add("conv1d.weight", {x_b_c, plain(1), plain(shape.conv_kernel)}, kRole, "conv");
  if (shape.conv_bias) at.add("conv1d.bias", {x_b_c}, kRole, "conv");
  at.add("dt_bias", {heads}, kRole, "dt_bias");
  at.add("in_proj.weight", {z_x_b_c_dt, plain(shape.hidden)}, kRole, "in_proj");
  at.add("norm.weight", {q_heads(inner)}, kRole, "norm");
  at.add("out_proj.weight", {plain(shape.hidden), q_heads(inner)}, kRole, "out");
}

GdnShape read_gdn(const HfKeys& keys) {
  GdnShape shape;
  shape.hidden = keys.size("hidden_size");
  shape.key_heads = keys.integer({"linear_num_key_heads"}, 1, kMostHeads);
  shape.key_width = shape.key_heads * keys.integer({"linear_key_head_dim"}, 1, kMostHeadDim);
  shape.value_heads = keys.integer({"linear_num_value_heads"}, 1, kMostHeads);
  shape.value_head_dim = keys.integer({"linear_value_head_dim"}, 1, kMostHeadDim);
  shape.value_width = shape.value_heads * shape.value_head_dim;
  shape.conv_kernel = keys.integer({"linear_conv_kernel_dim"}, 1, kMostKernel);
  return shape;
}

void list_gdn(const GdnShape& shape, const TensorScope& at) {
  const TensorDim hidden = plain(shape.hidden);
  const TensorDim heads = q_heads(shape.value_heads);
  const TensorDim values = q_heads(shape.value_width);
  const TensorDim q_k_v = q_heads(2 * shape.key_width + shape.value_width,
                                  {shape.key_width, shape.key_width, shape.value_width});

  if (shape.interleaved) {
    at.add("in_proj_qkvz.weight", {q_heads(q_k_v.size + shape.value_width), hidden}, kRole,
           "in_qkvz");
    at.add("in_proj_ba.weight", {q_heads(2 * shape.value_heads), hidden}, kRole, "in_ba");
  } else {
    at.add("in_proj_qkv.weight", {q_k_v, hidden}, kRole, "in_qkv");
    at.add("in_proj_z.weight", {values, hidden}, kRole, "in_z");
    at.add("in_proj_b.weight", {heads, hidden}, kRole, "in_b");
    at.add("in_proj_a.weight", {heads, hidden}, kRole, "in_a");
  }
  at.add("conv1d.weight", {q_k_v, plain(1), plain(shape.conv_kernel)}, kRole, "conv");
  at.add("A_log", {heads}, kRole, "A_log", kFp32);
  at.add("dt_bias", {heads}, kRole, "dt_bias");
  at.add("norm.weight", {plain(shape.value_head_dim)}, kRole, "norm", kFp32);
  at.add("out_proj.weight", {hidden, values}, kRole, "out");
}

KdaShape read_kda(const HfKeys& keys, std::int64_t hidden) {
  KdaShape shape;
  shape.hidden = hidden;
  shape.heads = keys.integer({"num_heads"}, 1, kMostHeads);
  shape.head_dim = keys.integer({"head_dim"}, 1, kMostHeadDim);
  shape.conv_kernel = keys.integer({"short_conv_kernel_size"}, 1, kMostKernel);
  // Older models of the family have a low-rank gate instead (two matrices); say so, don't guess.
  if (!keys.flag("use_full_rank_gate", false)) {
    keys.fail("use_full_rank_gate", "only true is known; a low-rank gate has other tensors");
  }
  return shape;
}

void list_kda(const KdaShape& shape, const TensorScope& at) {
  const TensorDim hidden = plain(shape.hidden);
  const TensorDim rows = q_heads(shape.heads * shape.head_dim);
  const std::vector<TensorDim> conv = {rows, plain(1), plain(shape.conv_kernel)};

  at.add("q_proj.weight", {rows, hidden}, kRole, "q");
  at.add("k_proj.weight", {rows, hidden}, kRole, "k");
  at.add("v_proj.weight", {rows, hidden}, kRole, "v");
  at.add("q_conv1d.weight", conv, kRole, "q_conv", kFp32);
  at.add("k_conv1d.weight", conv, kRole, "k_conv", kFp32);
  at.add("v_conv1d.weight", conv, kRole, "v_conv", kFp32);
  // The checkpoint pads this one with zeros to a multiple of 128 entries; only the heads' own are
  // weights.
  at.add("A_log", {q_heads(shape.heads)}, kRole, "A_log", kFp32);
  at.add("dt_bias", {rows}, kRole, "dt_bias", kFp32);
  at.add("f_a_proj.weight", {plain(shape.head_dim), hidden}, kRole, "f_a");
  at.add("f_b_proj.weight", {rows, plain(shape.head_dim)}, kRole, "f_b");
  at.add("b_proj.weight", {q_heads(shape.heads), hidden}, kRole, "b");
  at.add("g_proj.weight", {rows, hidden}, kRole, "g");
  at.add("o_norm.weight", {plain(shape.head_dim)}, kRole, "o_norm", kFp32);
  at.add("o_proj.weight", {hidden, rows}, kRole, "o");
}

void list_lightning(const LightningShape& shape, const TensorScope& at) {
  const TensorDim hidden = plain(shape.hidden);
  const TensorDim rows = q_heads(shape.heads * shape.head_dim);
  // Each head's q, k and v rows lie together, so the matrix is cut by heads as a whole: no blocks.
  at.add("qkv_proj.weight", {q_heads(3 * rows.size), hidden}, kRole, "qkv");
  at.add("output_gate.weight", {rows, hidden}, kRole, "g");
  at.add("norm.weight", {rows}, kRole, "norm");
  at.add("out_proj.weight", {hidden, rows}, kRole, "out");
}

}  // namespace refit
