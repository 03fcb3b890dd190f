#pragma once

#include <functional>
#include <vector>

namespace refit::bench {

// What a run took over several repeats.
struct Timing {
  double best_s = 0;
  double median_s = 0;

  // How much slower than the best the middle one was: what else happened on the machine.
  double spread() const { return median_s / best_s - 1; }
};

// Repeats runs in turn, so that what else happens on the machine hits all alike. A run returns the
// seconds it took.
std::vector<Timing> interleaved(int repeats, const std::vector<std::function<double()>>& runs);

// Seconds on the steady clock that `work` takes.
double seconds_of(const std::function<void()>& work);

// Processor seconds that all threads of this process take for `work`: what other programs take in
// between does not count.
double cpu_seconds_of(const std::function<void()>& work);

}  // namespace refit::bench
