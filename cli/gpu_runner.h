#pragma once

#include <optional>
#include <string>

#include "cli/runners.h"

namespace refit {

// The transports that need a GPU, cuda and nccl; nothing for any other name. The library leaves it
// open, since whoever links CUDA and NCCL pays for them at every start: the program `refit_gpu` has
// them (gpu_runner.cc), `refit` hands such a run over to it (gpu_elsewhere.cc).
std::optional<Runner> gpu_runner(const std::string& transport);

}  // namespace refit
