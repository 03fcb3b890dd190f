#pragma once

#include <vector>

#include "cli/strategies.h"
#include "planner/choose.h"
#include "sim/predict.h"

namespace refit {

inline constexpr const char* kAuto = "auto";

// Which of the policies to take, by the predictions of their plans (planner/choose.h). Plans those
// again that are close to the best, to see how much their predictions mean.
Choice choose_among(const Scenario& scenario, const std::vector<Policy>& policies,
                    std::vector<Candidate> candidates, const PredictOptions& options);

// Plans and predicts all policies of `auto` with the scenario's network model, and chooses.
ChosenPolicy best_policy(const Scenario& scenario);

}  // namespace refit
