#include "executor/strided_box.h"

#include <algorithm>

#include "base/check.h"

namespace refit {

std::int64_t StridedBox::bytes() const {
  std::int64_t product = run_bytes;
  for (const Loop& loop : loops) product *= loop.count;
  return product;
}

StridedBox contiguous(std::byte* base, std::int64_t bytes) { return {base, bytes, {}}; }

// Loops are collected innermost first. One that goes on where the loop inside it ends makes that
// one longer.
static void add_outer(std::vector<StridedBox::Loop>& loops, StridedBox::Loop outer) {
  if (!loops.empty() && outer.stride_bytes == loops.back().count * loops.back().stride_bytes) {
    loops.back().count *= outer.count;
  } else {
    loops.push_back(outer);
  }
}

StridedBox locate(std::byte* base, const std::vector<IntervalSet>& sides, const Region& region,
                  int element_bytes) {
  StridedBox box;
  box.run_bytes = element_bytes;
  std::int64_t offset = 0;
  std::int64_t stride = element_bytes;  // of one step along dim d
  bool dense = true;                    // everything inside dim d is one run so far
  for (std::size_t d = region.size(); d-- > 0;) {
    std::int64_t before = 0;  // local rows ahead of the interval that holds the region's side
    bool found = false;
    for (const Interval& rows : sides[d].intervals()) {
      if (rows.begin <= region[d].begin && region[d].end <= rows.end) {
        before += region[d].begin - rows.begin;
        found = true;
        break;
      }
      before += rows.size();
    }
    REFIT_CHECK(found);
    offset += before * stride;
    const std::int64_t length = sides[d].size();
    if (dense) {
      box.run_bytes *= region[d].size();
      dense = region[d].size() == length;
    } else if (region[d].size() > 1) {
      add_outer(box.loops, {region[d].size(), stride});
    }
    stride *= length;
  }
  std::reverse(box.loops.begin(), box.loops.end());
  box.base = base + offset;
  return box;
}

std::span<std::byte> BoxCursor::here() const {
  if (done()) return {};
  return {run_ + offset_, static_cast<std::size_t>(boxes_[box_].run_bytes - offset_)};
}

RunRow BoxCursor::row() const {
  if (done()) return {};
  const StridedBox& box = boxes_[box_];
  if (offset_ > 0 || box.loops.empty()) return {run_ + offset_, box.run_bytes - offset_, 1, 0};
  return {run_, box.run_bytes, runs_left_, box.loops.back().stride_bytes};
}

void BoxCursor::enter_box() {
  while (box_ < boxes_.size() && boxes_[box_].bytes() == 0) ++box_;
  offset_ = 0;
  if (done()) return;
  const StridedBox& box = boxes_[box_];
  index_.assign(box.loops.empty() ? 0 : box.loops.size() - 1, 0);
  runs_left_ = box.loops.empty() ? 1 : box.loops.back().count;
  run_ = box.base;
}

void BoxCursor::advance(std::int64_t bytes) {
  if (bytes == 0) return;
  const StridedBox& box = boxes_[box_];
  offset_ += bytes;
  if (offset_ < box.run_bytes) return;
  const std::int64_t runs = offset_ == box.run_bytes ? 1 : offset_ / box.run_bytes;
  REFIT_CHECK(offset_ == runs * box.run_bytes && runs <= runs_left_);
  offset_ = 0;
  runs_left_ -= runs;
  if (!box.loops.empty()) run_ += runs * box.loops.back().stride_bytes;
  if (runs_left_ == 0) leave_row();
}

void BoxCursor::leave_row() {
  const std::vector<StridedBox::Loop>& loops = boxes_[box_].loops;
  for (std::size_t k = loops.size(); k-- > 0;) {
    run_ -= loops[k].stride_bytes * loops[k].count;
    if (k == 0) break;
    run_ += loops[k - 1].stride_bytes;
    if (++index_[k - 1] < loops[k - 1].count) {
      runs_left_ = loops.back().count;
      return;
    }
    index_[k - 1] = 0;
  }
  ++box_;
  enter_box();
}

void BoxCursor::skip(std::int64_t bytes) {
  while (bytes > 0) {
    const RunRow from = row();
    REFIT_CHECK(from.count > 0);
    const std::int64_t runs = std::min(from.count, bytes / from.run_bytes);
    const std::int64_t step = runs > 0 ? runs * from.run_bytes : bytes;
    advance(step);
    bytes -= step;
  }
}

// The start of a row as runs of `run_bytes`, no longer than its own.
static RunRow cut(const RunRow& row, std::int64_t run_bytes) {
  if (row.run_bytes == run_bytes) return row;
  return {row.first, run_bytes, row.run_bytes / run_bytes, run_bytes};
}

void copy(BoxCursor& from, BoxCursor& to, std::int64_t bytes) {
  while (bytes > 0) {
    const RunRow source = from.row(), target = to.row();
    const std::int64_t run_bytes = std::min({bytes, source.run_bytes, target.run_bytes});
    REFIT_CHECK(run_bytes > 0);
    RunRow reads = cut(source, run_bytes), writes = cut(target, run_bytes);
    std::int64_t count = std::min(reads.count, writes.count);
    if (count * run_bytes > bytes) count = bytes / run_bytes;
    reads.count = writes.count = count;
    copy_runs(reads, writes);
    from.advance(count * run_bytes);
    to.advance(count * run_bytes);
    bytes -= count * run_bytes;
  }
}

}  // namespace refit
