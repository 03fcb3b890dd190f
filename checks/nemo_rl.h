#pragma once

#include "checks/finding.h"
#include "models/refit.h"
#include "models/side_facts.h"

namespace refit {

// What a runtime of NeMo RL looks at besides the layouts.
struct NemoRlCase {
  SideFacts training, generation;
  bool colocated = false;  // both sides on the same GPUs
};

// `refit_transport: nccl_reshard`: all of its rules that the case breaks, at once, each with the
// key of the recipe and the value that would be right.
Findings nemo_rl_reshard_findings(const NemoRlCase& c);

// `vllm_zmq_sparse` and `vllm_s3_sparse`.
Findings nemo_rl_sparse_findings(const NemoRlCase& c);

// `nixl`: training rank i is paired with generation rank i.
Findings nemo_rl_nixl_findings(const NemoRlCase& c);

}  // namespace refit
