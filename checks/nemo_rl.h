#pragma once

#include "checks/finding.h"
#include "models/side_facts.h"
#include "scenarios/runtime_facts.h"

namespace refit {

// What NeMo RL looks at besides the layouts.
struct NemoRlCase {
  SideFacts training, generation;
  bool colocated = false;  // both sides on the same GPUs
  RuntimeFacts runtime = {};
};

// `refit_transport: nccl_reshard`: all of its rules that the case breaks, at once, each with the
// key of the recipe and the value that would be right.
Findings nemo_rl_reshard_findings(const NemoRlCase& c);

// `vllm_zmq_sparse`, and `vllm_s3_sparse`, which needs a bucket besides.
Findings nemo_rl_sparse_findings(const NemoRlCase& c);
Findings nemo_rl_s3_sparse_findings(const NemoRlCase& c);

// `nixl`: training rank i is paired with generation rank i.
Findings nemo_rl_nixl_findings(const NemoRlCase& c);

}  // namespace refit
