#pragma once

#include <string>
#include <vector>

#include "executor/lab.h"

namespace refit::detail {

// The sending side of a device: what it may send, and for a fair one which packets share a queue.
struct ShapedPort {
  std::string device;
  double bytes_per_s = 0;
  std::vector<std::string> queues;  // "ip dst 198.18.0.3/32": what tc's u32 filter matches
};

// Lines for tc that shape the port.
std::string shaper_lines(const ShapedPort& port, const LabOptions& options);

}  // namespace refit::detail
