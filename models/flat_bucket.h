#pragma once

#include <cstdint>
#include <vector>

#include "models/region.h"

namespace refit {

// A matrix as a flat buffer sees it: `rows` runs of `width` elements. A vector has width 1.
struct FlatParameter {
  std::int64_t rows = 0;
  std::int64_t width = 1;

  std::int64_t elements() const { return rows * width; }
};

// Parameters packed into one flat buffer, as Megatron-FSDP packs a bucket. Widest rows come first,
// on a grid of the common multiple of the widths. Where a parameter does not end on the grid, what
// is left of its last cell takes the beginning of another, which ends with the cell and goes on in
// the next, and whole parameters smaller than a cell. The buffer is padded to equally many whole
// cells for each of `ranks`, and each rank owns an interval.
//
//   a: 5 rows of 4, b: 6 rows of 1, 2 ranks:    aaaa aaaa aaaa aaaa | aaaa bbbb bb.. ....
class FlatBucket {
 public:
  // Error(bad_input) if the grid is too coarse to count with.
  FlatBucket(std::vector<FlatParameter> parameters, int ranks);

  std::int64_t grid() const { return grid_; }
  std::int64_t shard_elements() const { return shard_; }  // of every rank, padding included
  std::int64_t offset(int parameter) const { return offsets_[static_cast<std::size_t>(parameter)]; }

  // What each rank owns of a parameter, as rows. Error(bad_input) if a border falls inside a row.
  std::vector<IntervalSet> rows_by_rank(int parameter) const;

 private:
  void find_grid(const std::vector<int>& order);
  void place(const std::vector<int>& order);

  std::vector<FlatParameter> parameters_;
  int ranks_ = 1;
  std::int64_t grid_ = 1;
  std::int64_t shard_ = 0;
  std::vector<std::int64_t> offsets_;
};

}  // namespace refit
