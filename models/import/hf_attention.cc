#include "models/import/hf_attention.h"

#include <fmt/format.h>

namespace refit {

GqaShape read_gqa(const HfKeys& keys, HeadDim head_dim) {
  GqaShape shape;
  shape.hidden = keys.size("hidden_size");
  const std::int64_t heads = keys.integer({"num_attention_heads"}, 1, kMostHeads);
  const std::int64_t groups = keys.integer({"num_key_value_heads"}, 1, kMostHeads);
  if (heads % groups != 0) {
    keys.fail(
        "num_key_value_heads",
        fmt::format("{} does not divide {} query heads (num_attention_heads)", groups, heads));
  }
  std::int64_t dim = 0;
  if (head_dim == HeadDim::required || keys.has("head_dim")) {
    dim = keys.integer({"head_dim"}, 1, kMostSize - 1);
  } else if (shape.hidden % heads != 0) {
    keys.fail("num_attention_heads",
              fmt::format("{} does not divide hidden_size {}, and there is no head_dim", heads,
                          shape.hidden));
  } else {
    dim = shape.hidden / heads;
  }
  shape.heads = {.q_heads = static_cast<int>(heads),
                 .kv_heads = static_cast<int>(groups),
                 .head_dim = static_cast<int>(dim)};
  return shape;
}

namespace {

// Rows of q (with its gate, which lies behind the query of each head) and of k or v.
struct Rows {
  explicit Rows(const HeadGroups& heads)
      : o_columns(std::int64_t{heads.q_heads} * heads.head_dim),
        q(o_columns * (heads.gated ? 2 : 1)),
        kv(std::int64_t{heads.kv_heads} * heads.head_dim) {}

  std::int64_t o_columns;
  std::int64_t q;
  std::int64_t kv;
};

}  // namespace

void list_gqa(const GqaShape& shape, const TensorScope& at) {
  const Rows rows(shape.heads);
  const TensorDim hidden = plain(shape.hidden);
  at.add("q_proj.weight", {q_heads(rows.q), hidden}, Role::attention, "q");
  if (shape.qkv_bias) at.add("q_proj.bias", {q_heads(rows.q)}, Role::attention, "q");
  at.add("k_proj.weight", {kv_heads(rows.kv), hidden}, Role::attention, "k");
  if (shape.qkv_bias) at.add("k_proj.bias", {kv_heads(rows.kv)}, Role::attention, "k");
  at.add("v_proj.weight", {kv_heads(rows.kv), hidden}, Role::attention, "v");
  if (shape.qkv_bias) at.add("v_proj.bias", {kv_heads(rows.kv)}, Role::attention, "v");
  at.add("o_proj.weight", {hidden, q_heads(rows.o_columns)}, Role::attention, "o");
  if (shape.o_bias) at.add("o_proj.bias", {hidden}, Role::attention, "o");

  if (shape.qk_norm == GqaShape::QkNorm::per_head) {
    at.add("q_norm.weight", {plain(shape.heads.head_dim)}, Role::attention, "q_norm");
    at.add("k_norm.weight", {plain(shape.heads.head_dim)}, Role::attention, "k_norm");
  } else if (shape.qk_norm == GqaShape::QkNorm::full_width) {
    at.add("q_norm.weight", {q_heads(rows.q)}, Role::attention, "q_norm");
    at.add("k_norm.weight", {kv_heads(rows.kv)}, Role::attention, "k_norm");
  }
  if (shape.sinks) at.add("sinks", {q_heads(shape.heads.q_heads)}, Role::attention, "sinks");
}

void list_fused_gqa(const GqaShape& shape, const FusedGqaNames& names, const TensorScope& at) {
  const Rows rows(shape.heads);
  const TensorDim hidden = plain(shape.hidden);
  // One axis tag for three blocks: a rule that replicates key/value heads asks for part "qkv".
  const TensorDim qkv = q_heads(rows.q + 2 * rows.kv, {rows.q, rows.kv, rows.kv});
  const auto named = [](std::string_view name, const char* last) {
    return fmt::format("{}.{}", name, last);
  };
  at.add(named(names.qkv, "weight"), {qkv, hidden}, Role::attention, "qkv");
  if (shape.qkv_bias) at.add(named(names.qkv, "bias"), {qkv}, Role::attention, "qkv");
  at.add(named(names.o, "weight"), {hidden, q_heads(rows.o_columns)}, Role::attention, "o");
  if (shape.o_bias) at.add(named(names.o, "bias"), {hidden}, Role::attention, "o");
  if (shape.qk_norm == GqaShape::QkNorm::per_head) {
    at.add("query_layernorm.weight", {plain(shape.heads.head_dim)}, Role::attention, "q_norm");
    at.add("key_layernorm.weight", {plain(shape.heads.head_dim)}, Role::attention, "k_norm");
  }
}

MlaShape read_mla(const HfKeys& keys) {
  MlaShape shape;
  shape.hidden = keys.size("hidden_size");
  shape.heads = keys.integer({"num_attention_heads"}, 1, kMostHeads);
  // An explicit null means that queries are not compressed, which small models of the family use.
  shape.q_rank = keys.integer_or_null("q_lora_rank", 1, kMostSize).value_or(0);
  shape.kv_rank = keys.size("kv_lora_rank");
  shape.nope_dim = keys.integer({"qk_nope_head_dim"}, 1, kMostSize / 4);
  shape.rope_dim = keys.integer({"qk_rope_head_dim"}, 1, kMostSize / 4);
  shape.v_dim = keys.integer({"v_head_dim"}, 1, kMostSize / 4);
  return shape;
}

void list_mla(const MlaShape& shape, const TensorScope& at) {
  const TensorDim hidden = plain(shape.hidden);
  const TensorDim q_rows = q_heads(shape.heads * (shape.nope_dim + shape.rope_dim));
  const TensorDim kv_a_rows = plain(shape.kv_rank + shape.rope_dim);
  const TensorDim v_rows = q_heads(shape.heads * shape.v_dim);
  const Role role = Role::attention;

  if (shape.q_rank == 0) {
    at.add("q_proj.weight", {q_rows, hidden}, role, "q");
  } else {
    at.add("q_a_proj.weight", {plain(shape.q_rank), hidden}, role, "q_a");
    if (shape.bias) at.add("q_a_proj.bias", {plain(shape.q_rank)}, role, "q_a");
    at.add("q_a_layernorm.weight", {plain(shape.q_rank)}, role, "q_a_norm");
    at.add("q_b_proj.weight", {q_rows, plain(shape.q_rank)}, role, "q_b");
  }
  at.add("kv_a_proj_with_mqa.weight", {kv_a_rows, hidden}, role, "kv_a");
  if (shape.bias) at.add("kv_a_proj_with_mqa.bias", {kv_a_rows}, role, "kv_a");
  at.add("kv_a_layernorm.weight", {plain(shape.kv_rank)}, role, "kv_a_norm");
  at.add("kv_b_proj.weight",
         {q_heads(shape.heads * (shape.nope_dim + shape.v_dim)), plain(shape.kv_rank)}, role,
         "kv_b");
  if (shape.output_gate) at.add("g_proj.weight", {v_rows, hidden}, role, "g");
  at.add("o_proj.weight", {hidden, v_rows}, role, "o");
  if (shape.bias) at.add("o_proj.bias", {hidden}, role, "o");
}

IndexerShape read_indexer(const HfKeys& keys) {
  return {.heads = keys.integer({"index_n_heads"}, 1, kMostHeads),
          .head_dim = keys.integer({"index_head_dim"}, 1, kMostSize / kMostHeads)};
}

void list_indexer(const IndexerShape& indexer, const MlaShape& attention, const TensorScope& at) {
  const TensorScope inner = at.under("indexer.");
  const Role role = Role::attention;
  inner.add("wq_b.weight", {plain(indexer.heads * indexer.head_dim), plain(attention.q_rank)}, role,
            "index_q");
  inner.add("wk.weight", {plain(indexer.head_dim), plain(attention.hidden)}, role, "index_k");
  inner.add("k_norm.weight", {plain(indexer.head_dim)}, role, "index_k_norm");
  inner.add("k_norm.bias", {plain(indexer.head_dim)}, role, "index_k_norm");
  inner.add("weights_proj.weight", {plain(indexer.heads), plain(attention.hidden)}, role,
            "index_weights");
}

HeadGroups head_groups(const MlaShape& shape) {
  return {.q_heads = static_cast<int>(shape.heads),
          .kv_heads = 0,
          .head_dim = static_cast<int>(shape.nope_dim + shape.rope_dim)};
}

}  // namespace refit
