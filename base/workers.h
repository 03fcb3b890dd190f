#pragma once

#include <functional>
#include <string>
#include <vector>

namespace refit {

// A piece of work for a process of its own, whose outcome fits in a text.
struct Job {
  std::string name;  // for messages
  std::function<std::string()> work;
  int size = 0;  // the largest start first, so that none is left over at the end
};

// As many as there are processors for this process.
int all_cores();

// Runs the jobs in forked processes, at most `at_most` at a time, and returns their texts in the
// order of the jobs. An Error in a job is thrown here, that of the first failing job if several
// fail; a crash becomes Error(environment). `done` is told after each end how many have ended.
std::vector<std::string> run_in_workers(const std::vector<Job>& jobs, int at_most,
                                        const std::function<void(std::size_t)>& done = {});

}  // namespace refit
