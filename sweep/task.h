#pragma once

#include <cstdint>
#include <string>

#include "base/launcher.h"

namespace refit {

// Which points of a sweep this process takes: every count-th, beginning with `index`.
struct SweepTask {
  std::int64_t index = 0;
  std::int64_t count = 1;
  std::string said_by = {};  // "--task", "Slurm array", "Open MPI"; empty: nobody, so all points

  bool takes(std::int64_t point) const { return point % count == index; }
};

// "3/8", counted from 1. Error(bad_input) if it is not that.
SweepTask parse_task(const std::string& text);

// From a Slurm array's variables, times those of whoever started several processes
// (base/launcher.h). Error(bad_input) if they are malformed, or an array has gaps.
SweepTask environment_task(const GetVariable& get);

// "sweep.csv" and task 3 of 8 are "sweep.3-of-8.csv"; the same file if there is one task only.
std::string part_path(const std::string& path, const SweepTask& task);

}  // namespace refit
