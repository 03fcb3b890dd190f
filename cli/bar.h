#pragma once

#include <chrono>
#include <string>

#include "cli/progress.h"
#include "sweep/run_sweep.h"

namespace refit {

// How far a sweep is, on the terminal, and how long the rest takes if the points are alike.
//
//   refit: sweeping X [######--------------] 812 of 2,000 points, about 4 min left, 131 s
class Bar {
 public:
  explicit Bar(const std::string& doing) : doing_(doing), progress_(doing) {}

  void show(const SweepProgress& now);

 private:
  std::string doing_;
  Progress progress_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace refit
