#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/mesh.h"
#include "models/region.h"

namespace refit {

// How a dim of some length is divided among n coordinates of a mesh axis.
class Split {
 public:
  // torch.chunk and DTensor: ceil(length/n) each, the last short or empty. With a unit, whole units
  // of rows are dealt out so, and the last of them may be short.
  static Split chunk(std::int64_t unit = 1);
  static Split balanced();  // the first length % n pieces get one more
  static Split even();      // length % n must be 0
  // Even after padding the dim at its end to `total` rows; padding is nobody's and is never sent.
  static Split padded(std::int64_t total);
  // Several blocks laid one behind the other, each divided evenly on its own: [gate; up], [q; k;
  // v].
  static Split blocks(std::vector<std::int64_t> lengths);
  // n coordinates share `owners` pieces: coordinate i holds piece i * owners / n. KV heads under
  // a tensor parallel degree larger than their number.
  static Split shared(int owners);
  // Any division, written out: pieces[i] belongs to coordinate i. Pieces may be equal (replicas),
  // empty, or have gaps.
  static Split table(std::vector<IntervalSet> pieces);

  // Error(bad_input) if this split can't divide `length` by `n`; the message names both.
  IntervalSet piece(std::int64_t length, int n, int i) const;

  friend bool operator==(const Split&, const Split&) = default;

 private:
  enum class Kind { chunk, balanced, even, padded, blocks, shared, table };
  Kind kind_ = Kind::chunk;
  std::int64_t number_ = 1;
  std::vector<std::int64_t> lengths_;
  std::vector<IntervalSet> table_;
};

// What one mesh axis does to a tensor: nothing (its coordinates are replicas), or it cuts one dim.
struct Placement {
  bool sharded = false;
  int dim = 0;
  Split split = Split::chunk();

  friend bool operator==(const Placement&, const Placement&) = default;
};

Placement replicate();
Placement shard(int dim, Split split = Split::chunk());

// The pieces of one dim: pieces[i] for the i-th coordinate, row-major, over the mesh axes that cut
// it.
struct DimPieces {
  std::vector<int> axes;  // indices into mesh.axes(), outermost first; empty: one piece
  std::vector<IntervalSet> pieces;
};

// Where each rank of a mesh keeps its part of a tensor of one shape. One placement per mesh axis,
// as in DTensor. Several axes may cut several dims; two axes that cut the same dim cut one after
// the other, in mesh order.
//
//   Layout({8, 8}, mesh{rep 2, tp 4}, {replicate(), shard(0)})   rank 5 = (rep 1, tp 1): rows 2..3
class Layout {
 public:
  // Error(bad_input): a placement per axis, dims exist, splits fit, every element is held by some
  // rank (empty shards are fine).
  Layout(std::vector<std::int64_t> shape, Mesh mesh, std::vector<Placement> placements);

  const std::vector<std::int64_t>& shape() const { return shape_; }
  const Mesh& mesh() const { return mesh_; }
  const std::vector<Placement>& placements() const { return placements_; }

  // What the i-th rank of the mesh (row-major) holds: one set per dim; the shard is their product.
  // Empty if any set is empty.
  std::vector<IntervalSet> shard(int index) const;

  std::int64_t shard_elements(int index) const;

  DimPieces dim_pieces(int dim) const;

  // shard_elements of every rank, in row-major order of the mesh.
  std::vector<std::int64_t> elements_by_index() const;

  std::int64_t held_elements() const;  // summed over all ranks: replicas count

  friend bool operator==(const Layout&, const Layout&) = default;

 private:
  std::vector<std::int64_t> shape_;
  Mesh mesh_;
  std::vector<Placement> placements_;
};

}  // namespace refit
