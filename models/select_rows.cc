#include "models/select_rows.h"

#include <algorithm>

#include "base/check.h"

namespace refit {
namespace {

// The same ranks with the axes `cutting` seen as one, which comes first: only so can a table say
// what each of their coordinates holds.
Mesh with_one_axis(const Mesh& mesh, const std::vector<int>& cutting) {
  std::vector<int> order = cutting;
  MeshAxis joined{"", 1, 1};
  std::vector<MeshAxis> axes;
  for (const int a : cutting) {
    const MeshAxis& axis = mesh.axes()[static_cast<std::size_t>(a)];
    joined.name += (joined.name.empty() ? "" : " x ") + axis.name;
    joined.size *= axis.size;
  }
  axes.push_back(joined);
  for (int a = 0; a < static_cast<int>(mesh.axes().size()); ++a) {
    if (std::find(cutting.begin(), cutting.end(), a) != cutting.end()) continue;
    order.push_back(a);
    axes.push_back(mesh.axes()[static_cast<std::size_t>(a)]);
  }
  std::vector<Rank> ranks;
  std::vector<int> coordinate(order.size(), 0);
  for (int i = 0; i < mesh.size(); ++i) {
    ranks.push_back(mesh.rank_at(coordinate));
    for (std::size_t k = order.size(); k-- > 0;) {
      const auto a = static_cast<std::size_t>(order[k]);
      if (++coordinate[a] < mesh.axes()[a].size) break;
      coordinate[a] = 0;
    }
  }
  return Mesh(std::move(ranks), std::move(axes));
}

}  // namespace

IntervalSet places_in(const IntervalSet& outer, const IntervalSet& inner) {
  std::vector<Interval> places;
  std::int64_t before = 0;  // rows of `outer` ahead of this interval
  for (const Interval& part : outer.intervals()) {
    const IntervalSet here = intersect(inner, part);
    for (const Interval& rows : here.intervals()) {
      places.push_back({before + rows.begin - part.begin, before + rows.end - part.begin});
    }
    before += part.size();
  }
  return IntervalSet::of(std::move(places));
}

Layout recut(const Layout& layout, int dim, std::int64_t length, std::vector<IntervalSet> pieces) {
  std::vector<std::int64_t> shape = layout.shape();
  shape[static_cast<std::size_t>(dim)] = length;
  const DimPieces cut = layout.dim_pieces(dim);
  REFIT_CHECK(pieces.size() == cut.pieces.size());
  if (cut.axes.empty()) return Layout(std::move(shape), layout.mesh(), layout.placements());

  std::vector<Placement> placements = layout.placements();
  if (cut.axes.size() == 1) {
    placements[static_cast<std::size_t>(cut.axes[0])] = shard(dim, Split::table(std::move(pieces)));
    return Layout(std::move(shape), layout.mesh(), std::move(placements));
  }
  std::erase_if(placements, [dim](const Placement& p) { return p.sharded && p.dim == dim; });
  placements.insert(placements.begin(), shard(dim, Split::table(std::move(pieces))));
  return Layout(std::move(shape), with_one_axis(layout.mesh(), cut.axes), std::move(placements));
}

Layout select_rows(const Layout& layout, int dim, const IntervalSet& rows) {
  const IntervalSet all = Interval{0, layout.shape()[static_cast<std::size_t>(dim)]};
  REFIT_CHECK(intersect(all, rows) == rows);
  if (rows == all) return layout;
  std::vector<IntervalSet> pieces;
  for (const IntervalSet& piece : layout.dim_pieces(dim).pieces)
    pieces.push_back(places_in(rows, intersect(piece, rows)));
  return recut(layout, dim, rows.size(), std::move(pieces));
}

}  // namespace refit
