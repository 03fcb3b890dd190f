#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/tensor_spec.h"

namespace refit {

// Query heads grouped over key/value heads, as fused QKV matrices interleave them.
struct HeadGroups {
  int q_heads = 0;
  int kv_heads = 0;
  int head_dim = 0;
  bool gated = false;  // an output gate of the same size rides with q: 2 * head_dim rows per head

  friend bool operator==(const HeadGroups&, const HeadGroups&) = default;
};

// Heads of recurrent layers, none of which a rank may hold a part of; 0 where a model has none.
struct LinearHeads {
  int heads = 0;         // of Mamba-2 and KDA, value heads of GDN
  int key_heads = 0;     // of GDN
  int mamba_groups = 0;  // Mamba-2 heads of one group share their B and C

  friend bool operator==(const LinearHeads&, const LinearHeads&) = default;
};

// A model as its configuration describes it: every weight, and the few numbers that layouts need.
// `tensors` are in checkpoint order: embedding, layers from 0, final norm, head, then MTP modules.
struct ModelSpec {
  std::string name;          // "deepseek-v3"
  std::string architecture;  // "DeepseekV3ForCausalLM"
  std::string provenance;    // where the configuration comes from
  int layers = 0;
  std::int64_t hidden = 0;
  std::int64_t vocab = 0;
  int experts = 0;   // routed experts of a mixture layer; 0 for dense models
  HeadGroups heads;  // of softmax attention; kv_heads = 0 for latent attention
  LinearHeads linear_heads;
  bool tied_embeddings = false;  // the head is the embedding: listed once, sent once
  std::vector<TensorSpec> tensors;

  std::int64_t parameters() const;  // all of `tensors`
  std::int64_t bytes() const;
  std::int64_t checkpoint_tensors() const;
  std::int64_t bytes(Role role) const;  // without MTP modules
};

}  // namespace refit
