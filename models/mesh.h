#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/id.h"

namespace refit {

struct MeshAxis {
  std::string name;
  int size = 1;
  int stride = 1;  // rank distance between neighbours on this axis

  friend bool operator==(const MeshAxis&, const MeshAxis&) = default;
};

// A logical grid of ranks. Each axis has a name, a size and a stride, so a mesh is a strided view
// of the line of ranks: the rank at a coordinate is first + sum(coordinate[i] * axis[i].stride).
//
//   Mesh(Rank{16}, {{"pp", 2, 4}, {"tp", 4, 1}})     pp=0: 16 17 18 19
//                                                    pp=1: 20 21 22 23
//
// A mesh over an arbitrary rank list indexes that list instead of the line.
class Mesh {
 public:
  // Error(bad_input) if an axis is empty or named twice, or two coordinates would name one rank.
  Mesh(Rank first, std::vector<MeshAxis> axes);

  // Row-major over `ranks`: the last axis varies fastest. Sizes only; strides are ignored.
  // Error(bad_input) also if the sizes do not multiply to the number of ranks.
  Mesh(std::vector<Rank> ranks, std::vector<MeshAxis> axes);

  // Axes given outermost first, each with a size only, over contiguous ranks.
  static Mesh row_major(Rank first, std::vector<std::pair<std::string, int>> axes);

  int size() const;
  const std::vector<MeshAxis>& axes() const { return axes_; }
  int axis_index(std::string_view name) const;  // -1 if there is none

  Rank rank_at(std::span<const int> coordinate) const;
  std::vector<Rank> ranks() const;  // in row-major order of coordinates

  // The coordinate of the i-th rank in row-major order.
  std::vector<int> coordinate_of(int index) const;

  // The sub-grid with one axis pinned: mesh.slice("pp", 1) is the second pipeline stage.
  Mesh slice(std::string_view axis, int coordinate) const;

  friend bool operator==(const Mesh&, const Mesh&) = default;

 private:
  Rank first_;
  std::vector<MeshAxis> axes_;
  std::vector<Rank> list_;  // empty: the line of ranks from first_
};

}  // namespace refit
