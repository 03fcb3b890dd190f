#pragma once

#include <string>
#include <utility>
#include <vector>

#include "executor/cuda/wave_transport.h"

namespace refit {

using Facts = std::vector<std::pair<std::string, std::string>>;

// GPU model, driver and runtime; no serial numbers.
Facts gpu_facts(int device);

// Names of this machine's RDMA devices, or, if it has none, of its network cards; no addresses.
Facts nic_facts();

// Device time of one rank in the last iteration.
Facts wave_facts(const WaveTimes& times);

// Of the rank whose device was busiest.
WaveTimes busiest(const std::vector<WaveTimes>& of_ranks);

}  // namespace refit
