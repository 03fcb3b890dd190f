#pragma once

#include <span>
#include <vector>

#include "executor/lab.h"

namespace refit::detail {

struct LabFlow {
  Rank src;
  Rank dst;
  bool by_nvlink = false;
  // Payload rates of the two ports, kept by token buckets; 0: the kernel keeps them.
  double out_bytes_per_s = 0;
  double in_bytes_per_s = 0;
};

// Sends over all flows at once, each through a TCP connection of its own, and returns the rate of
// payload that each receiver saw after a short warm-up. A flow of a rank to itself is not allowed.
std::vector<double> flow_rates(Lab& lab, std::span<const LabFlow> flows, double seconds);

}  // namespace refit::detail
