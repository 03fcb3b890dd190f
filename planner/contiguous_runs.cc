#include "planner/contiguous_runs.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace refit {
namespace {

// Ascending, each once.
std::vector<std::int64_t> cuts_of(const DimPieces& dim) {
  std::vector<std::int64_t> cuts;
  for (const IntervalSet& piece : dim.pieces) {
    for (const Interval& part : piece.intervals()) cuts.insert(cuts.end(), {part.begin, part.end});
  }
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  return cuts;
}

// Of the piece that is cut most: cuts inside it, its borders not counted.
std::size_t most_cuts_inside(const DimPieces& dim, const std::vector<std::int64_t>& cuts) {
  std::size_t most = 0;
  for (const IntervalSet& piece : dim.pieces) {
    std::size_t inside = 0;
    for (const Interval& part : piece.intervals()) {
      inside += static_cast<std::size_t>(std::lower_bound(cuts.begin(), cuts.end(), part.end) -
                                         std::upper_bound(cuts.begin(), cuts.end(), part.begin));
    }
    most = std::max(most, inside);
  }
  return most;
}

std::int64_t largest(const DimPieces& dim) {
  std::int64_t side = 0;
  for (const IntervalSet& piece : dim.pieces) side = std::max(side, piece.size());
  return side;
}

}  // namespace

double contiguous_runs(const Layout& shards, const Layout& others) {
  double runs = 1, before = 1;  // `before`: indices of the dims outside of this one
  for (int d = 0; d < static_cast<int>(shards.shape().size()); ++d) {
    const DimPieces mine = shards.dim_pieces(d);
    const auto side = static_cast<double>(largest(mine));
    if (d == 0) runs = side;  // tensors of a class are never in one run
    const std::size_t cuts = most_cuts_inside(mine, cuts_of(others.dim_pieces(d)));
    if (cuts > 0) runs = std::max(runs, before * static_cast<double>(cuts + 1));
    before *= side;
  }
  return runs;
}

}  // namespace refit
