#pragma once

#include <cstdint>
#include <string>

#include "models/import/hf_keys.h"
#include "models/import/hf_tensor_list.h"

namespace refit {

// What a family calls the three projections of a feed-forward network. Networks without a gate
// (squared ReLU) have only up and down.
struct FfnNames {
  std::string gate = "gate_proj";  // empty: no gate
  std::string up = "up_proj";
  std::string down = "down_proj";
};

struct FfnShape {
  std::int64_t hidden = 0;
  std::int64_t width = 0;
  bool bias = false;
};

// Also a shared expert, by its role.
void list_ffn(const FfnShape& shape, const FfnNames& names, Role role, const TensorScope& at);

// A mixture of experts: a router, experts of which a token sees a few, and what stands around them.
struct MoeShape {
  std::int64_t hidden = 0;
  std::int64_t experts = 0;
  std::int64_t expert_width = 0;
  std::int64_t shared_width = 0;  // of all shared experts together, which are one network; 0: none
  std::int64_t latent = 0;        // experts work at this width instead of `hidden`; 0: they do not
  bool latent_norm = false;
  bool correction_bias = false;  // of the router, one per expert
  bool shared_gate = false;      // one more logit: how much the shared expert counts
};

// How many experts, in any family's spelling; a missing key is an error.
std::int64_t read_expert_count(const HfKeys& keys);

// A dense architecture whose configuration speaks of experts would be read as a much smaller model.
void refuse_experts(const HfKeys& keys, const std::string& architecture);

struct MoeNames {
  std::string router = "gate.weight";
  std::string correction_bias = "gate.e_score_correction_bias";
  FfnNames expert = {};
  std::string shared = "shared_experts.";
  FfnNames shared_expert = {};
  std::string shared_gate = "shared_expert_gate.weight";
  std::string latent_down = "fc1_latent_proj.weight";
  std::string latent_norm = {};  // where there is one
  std::string latent_up = "fc2_latent_proj.weight";
};

// Experts that the checkpoint lists one by one.
void list_moe(const MoeShape& shape, const MoeNames& names, const TensorScope& at);

// Everything but the routed experts; for families that fuse those.
void list_moe_router(const MoeShape& shape, const MoeNames& names, const TensorScope& at);
void list_moe_shared(const MoeShape& shape, const MoeNames& names, const TensorScope& at);

// All experts of a layer in one tensor [experts, 2 * width, hidden], the gate's half first, and one
// [experts, hidden, width].
void list_fused_experts(const MoeShape& shape, std::string_view gate_up, std::string_view down,
                        const TensorScope& at);

// Qwen3-VL: the same stored [in, out].
void list_in_out_experts(const MoeShape& shape, const TensorScope& at);

// gpt-oss: all experts in one tensor, stored [in, out], with biases. Rows of gate and up alternate
// (g0, u0, g1, u1, ...), so an even cut of the doubled width gives each part whole pairs, and the
// dim has no blocks.
void list_transposed_experts(const MoeShape& shape, const TensorScope& at);

}  // namespace refit
