#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/expert_placement.h"
#include "models/parallelism.h"

namespace refit {

// vLLM. Ranks, fastest axis last: engine, dp, pp, pcp, tp. `engines` are separate copies of the
// server (NeMo RL's "DP"); `data` is vLLM's own data parallelism, which cuts experts.
struct VllmOptions {
  int gpus = 0;
  Rank first;
  int tensor = 1, pipeline = 1, data = 1;
  int prefill_context = 1;       // copies of the dense weights that cut experts, as `data` does
  bool expert_parallel = false;  // experts whole on data * prefill_context * tensor ranks, not cut
  ExpertPlacement experts;
  std::vector<int> stage_layers;                // empty: by the engine's rule
  std::string all2all_backend;                  // empty: the default
  std::optional<SharedExperts> shared_experts;  // nothing: by the engine's rule
  bool mxfp4_experts = false;                   // cut by whole blocks of 32, as gpt-oss is then
  std::string version;                          // empty: the latest known
};

// Errors(bad_input) start with the key of the scenario that is wrong ("pipeline: …").
std::unique_ptr<Parallelism> vllm(const ModelSpec& model, const VllmOptions& options);

std::vector<int> vllm_stage_layers(int layers, int stages);  // of the latest version

}  // namespace refit
