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

// Time in which at least one of the spans ran.
double covered_s(std::vector<Span> spans);

}  // namespace refit
