#pragma once

#include <vector>

#include "sim/network_model.h"
#include "validation/result.h"
#include "validation/row_run.h"

namespace refit {

// Settings near published rows, of which the publications say something, too. `rows` are those that
// the program carries.

// Qwen3-30B-A3B by packed broadcast with 32 to 2,048 GPUs, half of them training; 32 to 256 are
// published.
std::vector<ScalePoint> scale_series(const std::vector<PublishedRow>& rows,
                                     const NetworkModel& model);

// DeepSeek-V3 on H100 with one, two and four pipeline stages at the same time.
std::vector<StreamsPoint> streams_series(const std::vector<PublishedRow>& rows,
                                         const NetworkModel& model);

}  // namespace refit
