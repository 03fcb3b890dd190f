#include "executor/clock.h"

#include <chrono>
#include <thread>

#include <sys/resource.h>
#include <time.h>

namespace refit {

using std::chrono::duration;
using std::chrono::steady_clock;

double steady_clock_s() { return duration<double>(steady_clock::now().time_since_epoch()).count(); }

void sleep_until(double steady_s) {
  std::this_thread::sleep_until(steady_clock::time_point(
      std::chrono::duration_cast<steady_clock::duration>(duration<double>(steady_s))));
}

double process_cpu_s() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double thread_cpu_s() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace refit
