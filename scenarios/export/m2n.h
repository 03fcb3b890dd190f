#pragma once

#include <string>
#include <vector>

#include "scenarios/scenario.h"

namespace refit {

// A scenario for NCCL M2N's reshard_model_bench, and the calls that it comes down to.
struct M2nFiles {
  std::string model;   // JSON: {name: {shape, dtype}}, experts one by one
  std::string system;  // JSON: degrees of `train` and `generation`
  std::string calls;   // JSON: a call per tensor, with both meshes, placements and local shapes
  std::size_t refused_calls = 0;  // of those, what ncclReshard can't describe, each with the reason
};

// Error(bad_input) if the bench could not be told of these layouts: the files are read back by our
// own importer, and a tensor that then lies elsewhere is named.
M2nFiles m2n_files(const Scenario& scenario);

}  // namespace refit
