#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "executor/copy_runs.h"
#include "models/region.h"

namespace refit {

// Bytes of a box inside a buffer: equally long runs at regular distances, in row-major order.
//
//   rows 2..3, columns 4..7 of a [8, 16] bf16 shard: base = row 2 column 4, run 8 B, 2 runs 32 B
//   apart
struct StridedBox {
  std::byte* base = nullptr;
  std::int64_t run_bytes = 0;
  struct Loop {
    std::int64_t count = 0;
    std::int64_t stride_bytes = 0;
  };
  std::vector<Loop> loops;  // outermost first; none: one run

  std::int64_t bytes() const;
};

// The box `region` of a shard whose sides are the interval sets `sides`, stored densely row-major
// at `base`. Each side of the region lies inside one interval of its set (REFIT_CHECK).
StridedBox locate(std::byte* base, const std::vector<IntervalSet>& sides, const Region& region,
                  int element_bytes);

// One box of `bytes` contiguous bytes.
StridedBox contiguous(std::byte* base, std::int64_t bytes);

// Walks a list of boxes as one stream of bytes.
class BoxCursor {
 public:
  explicit BoxCursor(std::span<const StridedBox> boxes) : boxes_(boxes) { enter_box(); }

  bool done() const { return box_ == boxes_.size(); }
  // What is contiguous from here: never empty unless done.
  std::span<std::byte> here() const;
  // What is regular from here: the rest of a run that was begun, or all runs up to the end of the
  // innermost loop. Empty if done.
  RunRow row() const;
  // Steps over `bytes` of the row: a part of its first run, or whole runs.
  void advance(std::int64_t bytes);
  // Steps over any number of bytes that are left.
  void skip(std::int64_t bytes);

 private:
  void enter_box();
  void leave_row();

  std::span<const StridedBox> boxes_;
  std::size_t box_ = 0;
  std::vector<std::int64_t> index_;  // of each loop of the current box but the innermost
  std::byte* run_ = nullptr;
  std::int64_t runs_left_ = 0;  // of the innermost loop, with the current one
  std::int64_t offset_ = 0;     // inside the run
};

// Copies `bytes` from one stream to another; both advance.
void copy(BoxCursor& from, BoxCursor& to, std::int64_t bytes);

}  // namespace refit
