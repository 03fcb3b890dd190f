#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/expert_placement.h"
#include "models/parallelism.h"

namespace refit {

// SGLang. An engine has tensor x pipeline ranks; everything else divides the tensor ranks of a
// stage in its own way, fastest axis last:
//   attention:  attn_dp, attn_cp, attn_tp    (dp and cp hold copies)
//   experts:    moe_dp, ep, moe_tp           (moe_dp holds copies)
struct SglangOptions {
  int gpus = 0;
  Rank first;
  int tensor = 1, pipeline = 1;
  int attention_data = 1, attention_context = 1;
  std::optional<int> expert;  // nothing: 1, or all tensor ranks where the backend asks for that
  int expert_data = 1;
  bool attention_head = false;  // the LM head is cut as attention is, not by all tensor ranks
  bool whole_dense = false;     // dense feed-forward layers are copied, not cut
  ExpertPlacement experts;
  std::vector<int> stage_layers;
  std::string all2all_backend;
  std::optional<SharedExperts> shared_experts;
  bool mxfp4_experts = false;
  std::string version;
};

// Errors(bad_input) start with the key of the scenario that is wrong ("pipeline: …").
std::unique_ptr<Parallelism> sglang(const ModelSpec& model, const SglangOptions& options);

std::vector<int> sglang_stage_layers(int layers, int stages);  // of the latest version

}  // namespace refit
