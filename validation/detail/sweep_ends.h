#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "validation/measured_series.h"

namespace refit::detail {

// The two ends of a sweep over message sizes that a straight line describes.
//
//   time      _____floor___..  ramp  ../  plateau: bytes / time is nearly the best
struct SweepEnds {
  std::size_t floor_end = 0;  // points [0, floor_end); empty: the smallest message is not small
  std::size_t plateau_begin = 0, plateau_end = 0;  // empty: the rate still rises at the end
  std::vector<std::string> notes;
};

SweepEnds sweep_ends(const std::vector<MeasuredSeries::Point>& points);

}  // namespace refit::detail
