#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sweep/run_sweep.h"
#include "sweep/size_answer.h"
#include "sweep/sweep.h"

namespace refit {

// How large a cluster must be for a refit to take no more than a share of a step (docs/sweep.md).
struct SizeQuestion {
  struct Candidate {
    std::string name;
    int nodes = 0;
    int gpus = 0;
    std::optional<double> cost;
  };
  std::string name;
  double step_s = 0;
  double below = 0;
  std::string field;                  // SizeAnswer
  std::vector<Candidate> candidates;  // value i of the sweep's first axis
  Sweep sweep;                        // candidates, then strategies
};

// What a command line says instead of the file.
struct SizeOverrides {
  std::optional<double> step_s, below;
};

// Error(bad_input) names file, line, column and key.
SizeQuestion load_size(const std::string& path, const SizeOverrides& overrides = {});
SizeQuestion parse_size(const std::string& text, const std::string& name,
                        const SizeOverrides& overrides = {});

// `table`: the rows of the question's sweep.
SizeAnswer answer_of(const SizeQuestion& question, const SweepTable& table);

}  // namespace refit
