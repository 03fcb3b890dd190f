#include "executor/strided_box.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace refit {

std::int64_t StridedBox::bytes() const {
  std::int64_t product = run_bytes;
  for (const Loop& loop : loops) product *= loop.count;
  return product;
}

StridedBox contiguous(std::byte* base, std::int64_t bytes) { return {base, bytes, {}}; }

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
      box.loops.push_back({region[d].size(), stride});
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

void BoxCursor::enter_box() {
  while (box_ < boxes_.size() && boxes_[box_].bytes() == 0) ++box_;
  offset_ = 0;
  if (done()) return;
  index_.assign(boxes_[box_].loops.size(), 0);
  run_ = boxes_[box_].base;
}

void BoxCursor::advance(std::int64_t bytes) {
  if (bytes == 0) return;
  const StridedBox& box = boxes_[box_];
  offset_ += bytes;
  if (offset_ < box.run_bytes) return;
  REFIT_CHECK(offset_ == box.run_bytes);
  offset_ = 0;
  for (std::size_t k = box.loops.size(); k-- > 0;) {
    run_ += box.loops[k].stride_bytes;
    if (++index_[k] < box.loops[k].count) return;
    run_ -= box.loops[k].stride_bytes * box.loops[k].count;
    index_[k] = 0;
  }
  ++box_;
  enter_box();
}

void BoxCursor::skip(std::int64_t bytes) {
  while (bytes > 0) {
    if (offset_ == 0 && run_ == boxes_[box_].base && bytes >= boxes_[box_].bytes() &&
        std::all_of(index_.begin(), index_.end(), [](std::int64_t i) { return i == 0; })) {
      bytes -= boxes_[box_].bytes();
      ++box_;
      enter_box();
      continue;
    }
    const auto step = std::min(bytes, static_cast<std::int64_t>(here().size()));
    advance(step);
    bytes -= step;
  }
}

void copy(BoxCursor& from, BoxCursor& to, std::int64_t bytes) {
  while (bytes > 0) {
    const auto source = from.here();
    const auto target = to.here();
    const auto step = std::min({bytes, static_cast<std::int64_t>(source.size()),
                                static_cast<std::int64_t>(target.size())});
    REFIT_CHECK(step > 0);
    std::memcpy(target.data(), source.data(), static_cast<std::size_t>(step));
    from.advance(step);
    to.advance(step);
    bytes -= step;
  }
}

}  // namespace refit
