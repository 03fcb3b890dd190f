#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace refit {

// What NCCL M2N's reshard_model_bench prints: a line per pattern of parameters.
struct M2nBench {
  struct Pattern {
    std::string name;
    double transfers = 0;
    double sender_bytes = 0;  // local to the trainer rank that has most
    double seconds = 0;       // slowest rank
  };

  std::string file;  // base name
  int training_ranks = 0, generation_ranks = 0;
  int training_stages = 1, generation_stages = 1;
  std::vector<Pattern> patterns;
};

// Error(bad_input) names file and line. A run whose validation failed is refused.
M2nBench read_m2n_bench(std::string_view text, const std::string& name);

}  // namespace refit
