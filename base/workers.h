#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

namespace refit {

// A piece of work for a process of its own, whose outcome fits in a text.
struct Job {
  std::string name;  // for messages
  std::function<std::string()> work;
  int size = 0;  // the largest start first, so that none is left over at the end
};

// As many as there are processors for this process.
int all_cores();

// A job's text, or why there is none: its Error, or Error(environment) if its process was lost.
struct JobOutcome {
  std::string text;
  std::optional<Error> error;
};

// Runs the jobs in forked processes, at most `at_most` at a time, and tells of each end as it
// comes. A job that fails leaves the others alone.
void for_each_outcome(const std::vector<Job>& jobs, int at_most,
                      const std::function<void(std::size_t job, JobOutcome outcome)>& ended);

// The same, returning the texts in the order of the jobs. An Error in a job is thrown here, that of
// the first failing job if several fail. `done` is told after each end how many have ended.
std::vector<std::string> run_in_workers(const std::vector<Job>& jobs, int at_most,
                                        const std::function<void(std::size_t)>& done = {});

}  // namespace refit
