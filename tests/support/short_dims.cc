#include "tests/support/short_dims.h"

#include <algorithm>
#include <set>
#include <utility>

#include "models/select_rows.h"

namespace refit::test {
namespace {

void add_cuts(const Layout& layout, int dim, std::set<std::int64_t>& cuts) {
  for (const IntervalSet& piece : layout.dim_pieces(dim).pieces) {
    for (const Interval& rows : piece.intervals()) cuts.insert({rows.begin, rows.end});
  }
}

IntervalSet rows_to_keep(const TensorClass& c, int dim, const ShortDims& left) {
  const std::int64_t length = c.shape()[static_cast<std::size_t>(dim)];
  if (dim == 0) return Interval{0, std::min(left.members, length)};
  std::set<std::int64_t> cuts = {0, length};
  add_cuts(c.source, dim, cuts);
  add_cuts(c.destination, dim, cuts);
  std::vector<Interval> kept;
  for (auto from = cuts.begin(), to = std::next(from); to != cuts.end(); ++from, ++to)
    kept.push_back({*from, std::min(*from + left.rows, *to)});
  return IntervalSet::of(std::move(kept));
}

}  // namespace

Refit with_short_dims(Refit refit, const ShortDims& left) {
  for (TensorClass& c : refit.classes) {
    c.members.resize(std::min(c.members.size(), static_cast<std::size_t>(left.members)));
    c.checkpoint_tensors = static_cast<int>(c.members.size());
    for (int dim = 0; dim < static_cast<int>(c.shape().size()); ++dim) {
      const IntervalSet rows = rows_to_keep(c, dim, left);
      c.source = select_rows(c.source, dim, rows);
      c.destination = select_rows(c.destination, dim, rows);
    }
  }
  return refit;
}

}  // namespace refit::test
