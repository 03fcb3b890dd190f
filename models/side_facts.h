#pragma once

#include <string>

#include "base/id.h"

namespace refit {

// What one side of a refit runs on, as rules of runtimes ask for it. Degrees of 1 are unused.
struct SideFacts {
  std::string engine;  // "megatron", "vllm", "sglang", "fsdp", …
  int gpus = 0;
  Rank first;
  int tensor = 1, context = 1, pipeline = 1, data = 1;
  int expert = 1;                 // ranks that the experts of a layer are divided among, whole
  int expert_tensor = 1;          // ranks that one expert is cut over
  int virtual_pipeline = 1;       // model chunks per rank
  bool written_pipeline = false;  // stages written out by a layout string or list
  bool accounts_embedding = false, accounts_loss = false;
  bool redundant_experts = false;  // EPLB: copies of experts that move at run time
  std::string precision = "bf16";  // of the weights it holds
};

}  // namespace refit
