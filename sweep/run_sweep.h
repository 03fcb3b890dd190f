#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "sweep/row.h"
#include "sweep/sweep.h"
#include "sweep/task.h"

namespace refit {

struct SweepRun {
  int workers = 1;
  SweepTask task = {};
  // Each row is appended here as soon as it is there; empty: nowhere.
  std::string file = {};
  // The file may be there: what it has is not computed again, but for what failed. A last line
  // without its end, as a kill leaves it, is taken away.
  bool resume = false;
};

struct SweepProgress {
  std::size_t known = 0;   // from the file
  std::size_t done = 0;    // by this run
  std::size_t points = 0;  // of the task
};

// Every point in a process of its own, so that one that breaks leaves the others alone: its row
// says "failed". The rows come in the order of the points. Error(bad_input) if the file is another
// sweep's, Error(environment) if it can't be written or another process writes it.
SweepTable run_sweep(const Sweep& sweep, const SweepRun& run,
                     const std::function<void(const SweepProgress&)>& say = {});

}  // namespace refit
