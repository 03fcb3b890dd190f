#include "schedule/timeline.h"

#include <algorithm>

namespace refit {

double covered_s(std::vector<Span> spans) {
  std::sort(spans.begin(), spans.end(),
            [](const Span& a, const Span& b) { return a.start_s < b.start_s; });
  double sum = 0;
  double until = 0;
  for (const Span& span : spans) {
    sum += std::max(0.0, span.end_s - std::max(span.start_s, until));
    until = std::max(until, span.end_s);
  }
  return sum;
}

}  // namespace refit
