#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace refit {

// Half-open: begin <= x < end.
struct Interval {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  std::int64_t size() const { return end - begin; }
  friend bool operator==(const Interval&, const Interval&) = default;
};

// Sorted, non-empty, disjoint intervals that do not touch. An empty set is a shard that holds
// nothing.
class IntervalSet {
 public:
  IntervalSet() = default;
  IntervalSet(Interval one);  // NOLINT: an interval is a set; an empty interval is the empty set

  // Sorts and merges; intervals may touch but not overlap (REFIT_CHECK).
  static IntervalSet of(std::vector<Interval> intervals);

  const std::vector<Interval>& intervals() const { return intervals_; }
  bool empty() const { return intervals_.empty(); }
  std::int64_t size() const;  // elements
  bool contains(std::int64_t x) const;

  friend bool operator==(const IntervalSet&, const IntervalSet&) = default;

 private:
  std::vector<Interval> intervals_;
};

IntervalSet intersect(const IntervalSet& a, const IntervalSet& b);

// Blocks of `lengths` rows laid one behind the other: rows `sets[i]` of block i, which count from 0
// in each block, as rows of the whole.
IntervalSet stack(const std::vector<IntervalSet>& sets, const std::vector<std::int64_t>& lengths);

// A box of elements in the coordinates of one tensor: one interval per dim, none empty.
using Region = std::vector<Interval>;

std::int64_t elements(const Region& region);

// The elements in both `a` and `b`, or nothing if they share none. Same number of dims.
std::optional<Region> intersect(const Region& a, const Region& b);
bool contains(const Region& outer, const Region& inner);

// Part `part` of `parts` of a region: cut along the first dim that `parts` divides, else along the
// longest; the sizes differ by at most one row. Nothing if the region has fewer rows than parts and
// this part gets none. The parts of a region are disjoint and cover it.
std::optional<Region> slice(const Region& region, int part, int parts);
std::size_t sliced_dim(const Region& region, int parts);
Interval sliced_side(const Interval& side, int part, int parts);
// Of slice(), without making it; 0 where it is nothing.
std::int64_t slice_elements(const Region& region, int part, int parts);

}  // namespace refit
