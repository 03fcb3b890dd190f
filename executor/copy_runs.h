#pragma once

#include <cstddef>
#include <cstdint>

namespace refit {

// Equally long runs at equal distances: the innermost loop of a box, or a piece of it.
struct RunRow {
  std::byte* first = nullptr;
  std::int64_t run_bytes = 0;
  std::int64_t count = 0;
  std::int64_t stride_bytes = 0;
};

// Copies each run of `from` onto the run at its place in `to`: as many, equally long, and apart.
void copy_runs(const RunRow& from, const RunRow& to);

}  // namespace refit
