#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "models/layout.h"

namespace refit::detail {

// The distinct shards of a layout, each with the ranks that hold it: ranks that differ only in axes
// that cut nothing hold the same. A shard is a product of pieces, one per dim; shards are numbered
// row by row over the pieces.
class Shards {
 public:
  explicit Shards(const Layout& layout);

  const std::vector<DimPieces>& pieces() const { return pieces_; }                   // by dim
  const std::vector<Rank>& ranks(std::size_t shard) const { return ranks_[shard]; }  // ascending
  const IntervalSet& side(std::size_t shard, std::size_t dim) const;
  // In the order in which the mesh comes to them.
  const std::vector<std::size_t>& in_mesh_order() const { return in_mesh_order_; }

 private:
  std::vector<DimPieces> pieces_;
  std::vector<std::vector<Rank>> ranks_;
  std::vector<std::size_t> in_mesh_order_;
};

// Which pieces of one dim hold given rows, found by a search: a dim cut into thousands of pieces
// has as many fragments, and each asks. Equal sets of pieces have equal numbers.
class PieceIndex {
 public:
  explicit PieceIndex(const DimPieces& dim);

  // The number of the set of pieces that hold all of `rows`; nothing if a piece holds a part only.
  std::optional<std::size_t> holders(const Interval& rows) const;
  const std::vector<int>& pieces(std::size_t set) const { return sets_[set]; }  // ascending

 private:
  // Up to where the next begins, rows have the same holders.
  struct Segment {
    std::int64_t begin = 0;
    std::size_t set = 0;
  };
  std::vector<Segment> segments_;
  std::vector<std::vector<int>> sets_;
};

}  // namespace refit::detail
