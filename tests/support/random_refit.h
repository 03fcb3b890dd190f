#pragma once

#include <cstdint>
#include <string>

#include "models/refit.h"
#include "topology/cluster.h"

namespace refit::test {

// A cluster and a refit that nobody would choose: domains of 1 to 16 GPUs side by side, NICs of 25,
// 50 and 100 GB/s, trunks that carry a half or a quarter, replicas on both sides, pipeline stages,
// one or two cut dims with chunk or balanced splits, ranks that do both.
struct RandomRefit {
  Cluster cluster;
  Refit refit;
  std::string words;  // what a person needs to picture it
};

// The same for the same seed, on every machine.
RandomRefit random_refit(std::uint32_t seed);

}  // namespace refit::test
