#include "models/flat_bucket.h"

#include <algorithm>
#include <list>
#include <numeric>

#include <fmt/format.h>

#include "base/check.h"
#include "base/error.h"

namespace refit {
namespace {

constexpr std::int64_t kCoarsestGrid = std::int64_t{1} << 40;

std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

FlatBucket::FlatBucket(std::vector<FlatParameter> parameters, int ranks)
    : parameters_(std::move(parameters)), ranks_(ranks), offsets_(parameters_.size(), 0) {
  REFIT_CHECK(ranks >= 1 && !parameters_.empty());
  std::vector<int> order(parameters_.size());
  std::iota(order.begin(), order.end(), 0);
  const auto of = [&](int p) { return parameters_[static_cast<std::size_t>(p)]; };
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return of(a).width > of(b).width; });
  find_grid(order);
  place(order);
}

// Not always the multiple of all widths: whoever is smaller than a cell, or fills whole cells, does
// not refine the grid.
void FlatBucket::find_grid(const std::vector<int>& order) {
  grid_ = parameters_[static_cast<std::size_t>(order.front())].width;
  for (const int p : order) {
    const FlatParameter& parameter = parameters_[static_cast<std::size_t>(p)];
    const bool fits = grid_ % parameter.width == 0 && parameter.elements() % grid_ == 0;
    if (parameter.width == grid_ || fits || parameter.elements() < grid_) continue;
    const std::int64_t times = parameter.width / std::gcd(grid_, parameter.width);
    if (grid_ > kCoarsestGrid / times) {
      throw Error(
          ErrorCode::bad_input,
          fmt::format("rows of {} and of {} elements have no common multiple up to 2^40, on "
                      "which a flat buffer could be divided",
                      grid_, parameter.width));
    }
    grid_ *= times;
  }
}

void FlatBucket::place(const std::vector<int>& order) {
  const auto elements = [&](int p) { return parameters_[static_cast<std::size_t>(p)].elements(); };
  const auto put = [&](int p, std::int64_t offset) {
    offsets_[static_cast<std::size_t>(p)] = offset;
  };
  std::list<int> large, small;
  for (const int p : order) (elements(p) < grid_ ? small : large).push_back(p);

  std::int64_t end = 0;
  while (!large.empty()) {
    const int p = large.front();
    large.pop_front();
    put(p, end);
    const std::int64_t over = elements(p) % grid_;  // in the parameter's last cell
    std::int64_t gap = end + elements(p);
    end = round_up(gap, grid_);
    if (over == 0) continue;
    std::int64_t space = grid_ - over;
    // Another with a remainder that fits ends this cell with it, and goes on from there.
    const auto other = std::find_if(large.begin(), large.end(), [&](int q) {
      return elements(q) % grid_ != 0 && elements(q) % grid_ <= space;
    });
    if (other != large.end()) {
      const std::int64_t head = elements(*other) % grid_;
      put(*other, end - head);
      space -= head;
      end += elements(*other) - head;
      large.erase(other);
    }
    for (auto q = small.begin(); q != small.end();) {
      if (elements(*q) > space) {
        ++q;
        continue;
      }
      put(*q, gap);
      space -= elements(*q);
      gap += elements(*q);
      q = small.erase(q);
    }
  }
  for (const int p : small) {
    put(p, end);
    end += elements(p);
  }
  shard_ = round_up(end, ranks_ * grid_) / ranks_;
}

std::vector<IntervalSet> FlatBucket::rows_by_rank(int parameter) const {
  const FlatParameter& p = parameters_[static_cast<std::size_t>(parameter)];
  const std::int64_t begin = offset(parameter), end = begin + p.elements();
  std::vector<IntervalSet> rows(static_cast<std::size_t>(ranks_));
  for (std::int64_t rank = begin / shard_; rank * shard_ < end; ++rank) {
    const std::int64_t from = std::max(begin, rank * shard_) - begin;
    const std::int64_t to = std::min(end, (rank + 1) * shard_) - begin;
    if (from % p.width != 0 || to % p.width != 0) {
      throw Error(ErrorCode::bad_input,
                  fmt::format("the border between two ranks falls inside a row of {} elements, and "
                              "only whole rows can be described; use another number of ranks",
                              p.width));
    }
    rows[static_cast<std::size_t>(rank)] = Interval{from / p.width, to / p.width};
  }
  return rows;
}

}  // namespace refit
