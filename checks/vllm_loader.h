#pragma once

#include <cstdint>
#include <optional>

#include "checks/finding.h"
#include "models/refit.h"
#include "models/side_facts.h"

namespace refit {

// vLLM's weight loader behind packed broadcasts: it takes a checkpoint tensor whole, so the largest
// must fit in one bucket. `generation`: none if the scenario writes its tensors out.
Findings vllm_loader_findings(const Refit& refit, const std::optional<SideFacts>& generation,
                              std::int64_t bucket_bytes);

}  // namespace refit
