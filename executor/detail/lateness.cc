#include "executor/detail/lateness.h"

#include <algorithm>
#include <cmath>

namespace refit::detail {

void Lateness::add(double now_s, double late_s) {
  worst_s_ = std::max(worst_s(now_s), late_s);
  since_s_ = now_s;
}

double Lateness::worst_s(double now_s) const {
  return worst_s_ * std::exp((since_s_ - now_s) / memory_s_);
}

}  // namespace refit::detail
