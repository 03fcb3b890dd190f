#include "models/layout.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.h"
#include "base/error.h"

namespace refit {
namespace {

// The rows of `inside`, counted from 0, mapped back to the dim that `outer` is a piece of.
IntervalSet within(const IntervalSet& outer, const IntervalSet& inside) {
  std::vector<Interval> rows;
  std::int64_t begin = 0;  // of this interval of `outer`, counted inside it
  for (const Interval& part : outer.intervals()) {
    const IntervalSet here = intersect(inside, Interval{begin, begin + part.size()});
    for (const Interval& row : here.intervals()) {
      rows.push_back({part.begin + row.begin - begin, part.begin + row.end - begin});
    }
    begin += part.size();
  }
  return IntervalSet::of(std::move(rows));
}

}  // namespace

Placement replicate() { return {}; }

Placement shard(int dim, Split split) { return {true, dim, std::move(split)}; }

Layout::Layout(std::vector<std::int64_t> shape, Mesh mesh, std::vector<Placement> placements)
    : shape_(std::move(shape)), mesh_(std::move(mesh)), placements_(std::move(placements)) {
  if (shape_.empty()) throw Error(ErrorCode::bad_input, "a tensor needs at least one dim");
  for (const std::int64_t side : shape_) {
    if (side < 1) {
      throw Error(ErrorCode::bad_input, fmt::format("a tensor dim is {}; use 1 or more", side));
    }
  }
  if (placements_.size() != mesh_.axes().size()) {
    throw Error(
        ErrorCode::bad_input,
        fmt::format("{} placements for a mesh of {} axes; give one per axis, outermost first",
                    placements_.size(), mesh_.axes().size()));
  }
  for (const Placement& placement : placements_) {
    if (placement.sharded &&
        (placement.dim < 0 || placement.dim >= static_cast<int>(shape_.size()))) {
      throw Error(ErrorCode::bad_input,
                  fmt::format("shard({}) of a tensor with {} dims; use 0 to {}", placement.dim,
                              shape_.size(), shape_.size() - 1));
    }
  }
  for (int d = 0; d < static_cast<int>(shape_.size()); ++d) {
    const DimPieces pieces = dim_pieces(d);
    std::vector<Interval> held;
    for (const IntervalSet& piece : pieces.pieces) {
      held.insert(held.end(), piece.intervals().begin(), piece.intervals().end());
    }
    std::sort(held.begin(), held.end(),
              [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
    std::int64_t covered = 0;
    for (const Interval& rows : held) {
      if (rows.begin > covered) break;
      covered = std::max(covered, rows.end);
    }
    if (covered < shape_[static_cast<std::size_t>(d)]) {
      throw Error(ErrorCode::bad_input,
                  fmt::format("row {} of dim {} is held by no rank; every element needs a holder",
                              covered, d));
    }
  }
}

DimPieces Layout::dim_pieces(int dim) const {
  DimPieces result;
  result.pieces.push_back(Interval{0, shape_[static_cast<std::size_t>(dim)]});
  for (std::size_t a = 0; a < placements_.size(); ++a) {
    if (!placements_[a].sharded || placements_[a].dim != dim) continue;
    const int n = mesh_.axes()[a].size;
    std::vector<IntervalSet> finer;
    finer.reserve(result.pieces.size() * static_cast<std::size_t>(n));
    for (const IntervalSet& outer : result.pieces) {
      for (int i = 0; i < n; ++i) {
        finer.push_back(within(outer, placements_[a].split.piece(outer.size(), n, i)));
      }
    }
    result.pieces = std::move(finer);
    result.axes.push_back(static_cast<int>(a));
  }
  return result;
}

std::vector<IntervalSet> Layout::shard(int index) const {
  const std::vector<int> coordinate = mesh_.coordinate_of(index);
  std::vector<IntervalSet> sets;
  for (int d = 0; d < static_cast<int>(shape_.size()); ++d) {
    const DimPieces pieces = dim_pieces(d);
    std::size_t at = 0;
    for (const int axis : pieces.axes) {
      const auto a = static_cast<std::size_t>(axis);
      at = at * static_cast<std::size_t>(mesh_.axes()[a].size) +
           static_cast<std::size_t>(coordinate[a]);
    }
    sets.push_back(pieces.pieces[at]);
  }
  return sets;
}

std::int64_t Layout::shard_elements(int index) const {
  std::int64_t product = 1;
  for (const IntervalSet& side : shard(index)) product *= side.size();
  return product;
}

std::vector<std::int64_t> Layout::elements_by_index() const {
  std::vector<std::int64_t> elements(static_cast<std::size_t>(mesh_.size()), 1);
  for (int d = 0; d < static_cast<int>(shape_.size()); ++d) {
    const DimPieces pieces = dim_pieces(d);
    std::vector<std::int64_t> sizes;
    for (const IntervalSet& piece : pieces.pieces) sizes.push_back(piece.size());
    std::vector<std::size_t> piece_of = {0};  // by the coordinates of the axes so far
    for (std::size_t a = 0; a < mesh_.axes().size(); ++a) {
      const auto n = static_cast<std::size_t>(mesh_.axes()[a].size);
      const bool cuts = placements_[a].sharded && placements_[a].dim == d;
      std::vector<std::size_t> longer;
      longer.reserve(piece_of.size() * n);
      for (const std::size_t piece : piece_of) {
        for (std::size_t i = 0; i < n; ++i) longer.push_back(cuts ? piece * n + i : piece);
      }
      piece_of = std::move(longer);
    }
    for (std::size_t i = 0; i < elements.size(); ++i) elements[i] *= sizes[piece_of[i]];
  }
  return elements;
}

std::int64_t Layout::held_elements() const {
  // The sum over coordinates of a product over dims is the product of the sums, since each axis
  // cuts at most one dim; axes that cut nothing multiply.
  std::int64_t total = 1;
  for (int d = 0; d < static_cast<int>(shape_.size()); ++d) {
    std::int64_t sum = 0;
    for (const IntervalSet& piece : dim_pieces(d).pieces) sum += piece.size();
    total *= sum;
  }
  for (std::size_t a = 0; a < placements_.size(); ++a) {
    if (!placements_[a].sharded) total *= mesh_.axes()[a].size;
  }
  return total;
}

}  // namespace refit
