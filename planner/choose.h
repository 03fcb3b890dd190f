#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/ensemble.h"

namespace refit {

// A plan that could be taken, and what is predicted of it.
struct Candidate {
  std::string name;
  std::int64_t ops = 0;
  double predicted_s = 0;
  std::optional<Ensemble> ensemble = std::nullopt;  // if it is close to the best
};

// Those within 5 % of the least prediction, in the order of the list; nothing if that one stands
// alone. Only these need an ensemble.
std::vector<std::size_t> close_to_best(const std::vector<Candidate>& candidates);

struct Choice {
  std::size_t index = 0;
  std::string reason;  // two lines
};

// The fastest by the median of its ensemble. What is slower by no more than the spread of either is
// as fast; of these the plan with fewer ops is taken, then the first of the list. `candidates`: one
// or more, the close ones with their ensembles.
Choice choose(const std::vector<Candidate>& candidates);

}  // namespace refit
