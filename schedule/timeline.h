#pragma once

#include <vector>

namespace refit {

struct Span {
  double start_s = 0;
  double end_s = 0;

  friend bool operator==(const Span&, const Span&) = default;
};

// When each op began and ended, simulated or measured; as long as the schedule's ops.
using Timeline = std::vector<Span>;

}  // namespace refit
