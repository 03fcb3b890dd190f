#include "models/region.h"

#include <algorithm>

#include "base/check.h"

namespace refit {

IntervalSet::IntervalSet(Interval one) {
  if (one.begin < one.end) intervals_.push_back(one);
}

IntervalSet IntervalSet::of(std::vector<Interval> intervals) {
  std::erase_if(intervals, [](const Interval& i) { return i.begin >= i.end; });
  std::sort(intervals.begin(), intervals.end(),
            [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  IntervalSet set;
  for (const Interval& interval : intervals) {
    if (!set.intervals_.empty() && set.intervals_.back().end >= interval.begin) {
      REFIT_CHECK(set.intervals_.back().end == interval.begin);
      set.intervals_.back().end = interval.end;
    } else {
      set.intervals_.push_back(interval);
    }
  }
  return set;
}

std::int64_t IntervalSet::size() const {
  std::int64_t sum = 0;
  for (const Interval& interval : intervals_) sum += interval.size();
  return sum;
}

bool IntervalSet::contains(std::int64_t x) const {
  return std::any_of(intervals_.begin(), intervals_.end(),
                     [x](const Interval& i) { return i.begin <= x && x < i.end; });
}

IntervalSet intersect(const IntervalSet& a, const IntervalSet& b) {
  std::vector<Interval> common;
  auto i = a.intervals().begin();
  auto j = b.intervals().begin();
  while (i != a.intervals().end() && j != b.intervals().end()) {
    const Interval both{std::max(i->begin, j->begin), std::min(i->end, j->end)};
    if (both.begin < both.end) common.push_back(both);
    i->end < j->end ? ++i : ++j;
  }
  return IntervalSet::of(std::move(common));
}

IntervalSet stack(const std::vector<IntervalSet>& sets, const std::vector<std::int64_t>& lengths) {
  REFIT_CHECK(sets.size() == lengths.size());
  std::vector<Interval> rows;
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    for (const Interval& part : sets[i].intervals())
      rows.push_back({begin + part.begin, begin + part.end});
    begin += lengths[i];
  }
  return IntervalSet::of(std::move(rows));
}

std::int64_t elements(const Region& region) {
  std::int64_t product = 1;
  for (const Interval& side : region) product *= side.size();
  return product;
}

std::optional<Region> intersect(const Region& a, const Region& b) {
  REFIT_CHECK(a.size() == b.size());
  Region common(a.size());
  for (std::size_t d = 0; d < a.size(); ++d) {
    common[d] = {std::max(a[d].begin, b[d].begin), std::min(a[d].end, b[d].end)};
    if (common[d].begin >= common[d].end) return std::nullopt;
  }
  return common;
}

bool contains(const Region& outer, const Region& inner) {
  REFIT_CHECK(outer.size() == inner.size());
  for (std::size_t d = 0; d < outer.size(); ++d) {
    if (inner[d].begin < outer[d].begin || inner[d].end > outer[d].end) return false;
  }
  return true;
}

std::size_t sliced_dim(const Region& region, int parts) {
  std::size_t longest = 0;
  for (std::size_t d = 0; d < region.size(); ++d) {
    if (region[d].size() % parts == 0) return d;
    if (region[d].size() > region[longest].size()) longest = d;
  }
  return longest;
}

Interval sliced_side(const Interval& side, int part, int parts) {
  const std::int64_t length = side.size();
  return {side.begin + length * part / parts, side.begin + length * (part + 1) / parts};
}

std::optional<Region> slice(const Region& region, int part, int parts) {
  REFIT_CHECK(0 <= part && part < parts);
  if (parts == 1) return region;
  const std::size_t dim = sliced_dim(region, parts);
  Region cut = region;
  cut[dim] = sliced_side(region[dim], part, parts);
  if (cut[dim].size() == 0) return std::nullopt;
  return cut;
}

std::int64_t slice_elements(const Region& region, int part, int parts) {
  REFIT_CHECK(0 <= part && part < parts);
  if (parts == 1) return elements(region);
  const std::size_t dim = sliced_dim(region, parts);
  std::int64_t product = sliced_side(region[dim], part, parts).size();
  for (std::size_t d = 0; d < region.size(); ++d) {
    if (d != dim) product *= region[d].size();
  }
  return product;
}

}  // namespace refit
