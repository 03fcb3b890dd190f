#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/dtype.h"

namespace refit {

// What a weight is for. Policies choose a strategy per role, reports count bytes per role.
enum class Role {
  embedding,
  lm_head,
  attention,         // softmax and latent attention, with their norms
  linear_attention,  // Mamba-2, GDN, KDA, lightning
  router,            // gate logits and their correction bias
  routed_expert,
  shared_expert,
  dense_ffn,
  latent_projection,  // the projections around a latent mixture of experts
  norm,               // and other small replicated tensors
  unspecified,        // tensors of a scenario that names no model
};

std::string_view to_string(Role role);
Role parse_role(std::string_view text);  // Error(bad_input), lists the spellings

// What a dim counts, so that a parallel layout knows which mesh axis may cut it.
enum class Axis {
  none,     // never cut: hidden size, ranks of low-rank projections, kernel width
  vocab,    // rows of the vocabulary: cut by tensor parallel, after padding
  q_head,   // query heads x head_dim (and MLA, KDA, GDN, Mamba, lightning heads: cut evenly)
  kv_head,  // key or value heads x head_dim: replicated where heads are fewer than ranks
  ffn,      // intermediate size of a feed-forward projection
  expert,   // the experts of one layer
};

struct TensorDim {
  std::int64_t size = 0;
  Axis axis = Axis::none;
  // Parts laid one behind the other, each cut on its own ([gate; up], Mamba's z|x|B|C|dt).
  // Empty: one part.
  std::vector<std::int64_t> blocks;

  friend bool operator==(const TensorDim&, const TensorDim&) = default;
};

// One weight of a model, as its checkpoint names it. Experts of a layer that the checkpoint lists
// one by one are one spec: the name holds "{expert}", `experts` counts them, and dims[0] is the
// expert.
struct TensorSpec {
  std::string name;  // "model.layers.3.mlp.experts.{expert}.gate_proj.weight"
  std::vector<TensorDim> dims;
  Dtype dtype = Dtype::bf16;
  Role role = Role::unspecified;
  std::optional<int> layer;  // 0-based decoder layer; none for embeddings, final norm, head
  int experts = 0;           // > 0: this many checkpoint tensors stacked along dims[0]
  bool mtp = false;          // belongs to a multi-token-prediction module
  // The projection inside its layer that sharding rules with special cases ask for: "q", "k", "v",
  // "gate", "up", "down", "in_proj", … Empty if no rule asks.
  std::string part;
  bool scales = false;  // of another tensor, not weights

  std::int64_t elements() const;
  std::int64_t bytes() const;
  int checkpoint_tensors() const { return experts > 0 ? experts : 1; }

  friend bool operator==(const TensorSpec&, const TensorSpec&) = default;
};

}  // namespace refit
