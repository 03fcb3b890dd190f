#include "bench/interleaved.h"

#include <algorithm>

#include <time.h>

namespace refit::bench {
namespace {

double clock_s(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double seconds_on(clockid_t clock, const std::function<void()>& work) {
  const double begin_s = clock_s(clock);
  work();
  return clock_s(clock) - begin_s;
}

}  // namespace

std::vector<Timing> interleaved(int repeats, const std::vector<std::function<double()>>& runs) {
  std::vector<std::vector<double>> seconds(runs.size());
  for (int i = 0; i < repeats; ++i) {
    for (std::size_t r = 0; r < runs.size(); ++r) seconds[r].push_back(runs[r]());
  }
  std::vector<Timing> timings;
  for (auto& of_run : seconds) {
    std::ranges::sort(of_run);
    timings.push_back({of_run.front(), of_run[of_run.size() / 2]});
  }
  return timings;
}

double seconds_of(const std::function<void()>& work) { return seconds_on(CLOCK_MONOTONIC, work); }

double cpu_seconds_of(const std::function<void()>& work) {
  return seconds_on(CLOCK_PROCESS_CPUTIME_ID, work);
}

}  // namespace refit::bench
