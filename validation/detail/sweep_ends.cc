#include "validation/detail/sweep_ends.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/units.h"

namespace refit::detail {
namespace {

// A floor is flat over several sizes, or it is only the first point of the ramp.
constexpr double kFloorTime = 1.5;  // of the least time
constexpr double kFloorSizes = 4;   // largest over smallest
// Of the best rate. The line itself is still bent by the cost of the call there.
constexpr double kPlateauRate = 0.8;
constexpr double kPlateauSizes = 2;

double rate_of(const MeasuredSeries::Point& point) { return point.bytes / point.seconds; }

}  // namespace

SweepEnds sweep_ends(const std::vector<MeasuredSeries::Point>& points) {
  SweepEnds ends;
  double least = points.front().seconds, best = 0;
  for (const MeasuredSeries::Point& point : points) {
    least = std::min(least, point.seconds);
    best = std::max(best, rate_of(point));
  }
  const auto is_high = [&](std::size_t p) { return rate_of(points[p]) >= kPlateauRate * best; };
  const auto sizes = [&](std::size_t begin, std::size_t end) {
    return end > begin ? points[end - 1].bytes / points[begin].bytes : 0;
  };
  while (ends.floor_end < points.size() && points[ends.floor_end].seconds <= kFloorTime * least)
    ++ends.floor_end;
  if (sizes(0, ends.floor_end) < kFloorSizes) ends.floor_end = 0;

  while (ends.plateau_begin < points.size() && !is_high(ends.plateau_begin)) ++ends.plateau_begin;
  ends.plateau_end = ends.plateau_begin;
  while (ends.plateau_end < points.size() && is_high(ends.plateau_end)) ++ends.plateau_end;
  ends.plateau_begin = std::max(ends.plateau_begin, ends.floor_end);
  const bool has_plateau = sizes(ends.plateau_begin, ends.plateau_end) >= kPlateauSizes;
  if (has_plateau && ends.plateau_end < points.size()) {
    const auto worst =
        std::min_element(points.begin() + static_cast<std::ptrdiff_t>(ends.plateau_end),
                         points.end(), [](auto& a, auto& b) { return rate_of(a) < rate_of(b); });
    ends.notes.push_back(fmt::format(
        "after the best rate, {}/s, it falls to {}/s at {}: larger messages are left out, and "
        "something is wrong with them",
        format_bytes(best), format_bytes(rate_of(*worst)), worst->label));
  }
  if (!has_plateau) ends.plateau_begin = ends.plateau_end = 0;
  if (ends.floor_end == 0)
    ends.notes.emplace_back("no floor: the smallest messages do not all take about as long");
  if (!has_plateau) ends.notes.emplace_back("no plateau: the rate still rises at the end");
  return ends;
}

}  // namespace refit::detail
