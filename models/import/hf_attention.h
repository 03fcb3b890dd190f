#pragma once

#include <cstdint>
#include <string_view>

#include "models/import/hf_keys.h"
#include "models/import/hf_tensor_list.h"
#include "models/model_spec.h"

namespace refit {

// Softmax attention with query heads grouped over key/value heads.
struct GqaShape {
  enum class QkNorm { none, per_head, full_width };

  std::int64_t hidden = 0;
  HeadGroups heads;
  bool qkv_bias = false;
  bool o_bias = false;
  QkNorm qk_norm = QkNorm::none;
  bool sinks = false;  // one learned logit per query head
};

// Where head_dim is not given: hidden / heads where the family says so, else the key is missing.
enum class HeadDim { required, hidden_over_heads };

// Heads, groups and width only; switches are the family's.
GqaShape read_gqa(const HfKeys& keys, HeadDim head_dim);
void list_gqa(const GqaShape& shape, const TensorScope& at);

// q, k and v lie one behind the other in one tensor; other names for the rest.
struct FusedGqaNames {
  std::string_view qkv = "query_key_value";
  std::string_view o = "dense";
};
void list_fused_gqa(const GqaShape& shape, const FusedGqaNames& names, const TensorScope& at);

// Latent attention (MLA): keys and values come from one low-rank projection.
struct MlaShape {
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t q_rank = 0;  // 0: queries are projected directly
  std::int64_t kv_rank = 0;
  std::int64_t nope_dim = 0;
  std::int64_t rope_dim = 0;
  std::int64_t v_dim = 0;
  bool bias = false;
  bool output_gate = false;
};

MlaShape read_mla(const HfKeys& keys);
void list_mla(const MlaShape& shape, const TensorScope& at);

// What chooses the tokens that sparse attention looks at; every rank has all of it.
struct IndexerShape {
  std::int64_t heads = 0;
  std::int64_t head_dim = 0;
};

IndexerShape read_indexer(const HfKeys& keys);
void list_indexer(const IndexerShape& indexer, const MlaShape& attention, const TensorScope& at);

// As ModelSpec keeps them: no key/value heads, head_dim is the rows of one query head.
HeadGroups head_groups(const MlaShape& shape);

}  // namespace refit
