#pragma once

#include <utility>
#include <vector>

namespace refit::bench {

// b of value = a * size^b: the slope of the least-squares line in log-log. Points: size, value.
double exponent(const std::vector<std::pair<double, double>>& points);

}  // namespace refit::bench
