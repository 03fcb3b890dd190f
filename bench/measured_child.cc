#include "bench/measured_child.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace refit::bench {
namespace {

double seconds_of(const timeval& t) {
  return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
}

}  // namespace

Measured measured_child(const std::function<std::string()>& work) {
  int ends[2];
  if (pipe(ends) != 0) std::abort();
  std::fflush(stdout);
  const auto begin = std::chrono::steady_clock::now();
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    std::string text;
    double children_peak = 0;
    try {
      text = work();
    } catch (const std::exception& error) {
      text = std::string("failed: ") + error.what();
    }
    rusage own{}, children{};
    getrusage(RUSAGE_SELF, &own);
    getrusage(RUSAGE_CHILDREN, &children);
    children_peak = static_cast<double>(std::max(own.ru_maxrss, children.ru_maxrss)) / 1024;
    const double cpu = seconds_of(own.ru_utime) + seconds_of(own.ru_stime) +
                       seconds_of(children.ru_utime) + seconds_of(children.ru_stime);
    const std::string line = std::to_string(children_peak) + " " + std::to_string(cpu) + " " + text;
    if (write(ends[1], line.data(), line.size()) < 0) _exit(1);
    _exit(0);
  }
  close(ends[1]);
  std::string line;
  char buffer[4096];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;)
    line.append(buffer, static_cast<std::size_t>(n));
  close(ends[0]);
  waitpid(child, nullptr, 0);
  Measured measured;
  measured.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  char* rest = nullptr;
  measured.peak_mib = std::strtod(line.c_str(), &rest);
  measured.cpu_s = std::strtod(rest, &rest);
  if (rest != nullptr && *rest == ' ') measured.text = rest + 1;
  return measured;
}

}  // namespace refit::bench
