#pragma once

#include <functional>
#include <string>

namespace refit::bench {

struct Measured {
  double seconds = 0;   // wall clock of the child
  double cpu_s = 0;     // user and system time of it and its children
  double peak_mib = 0;  // largest resident set of it or any child of it
  std::string text;     // what the work returned
};

// Runs `work` in a process of its own, so that each row of a table has its own peak of memory.
Measured measured_child(const std::function<std::string()>& work);

}  // namespace refit::bench
