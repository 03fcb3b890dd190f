#pragma once

#include <optional>
#include <vector>

#include "base/error.h"
#include "cli/strategies.h"
#include "planner/choose.h"
#include "sim/predict.h"

namespace refit {

inline constexpr const char* kAuto = "auto";

// Which of the policies to take, by the predictions of their plans (planner/choose.h). Plans those
// again that are close to the best, to see how much their predictions mean.
Choice choose_among(const Scenario& scenario, const std::vector<Policy>& policies,
                    std::vector<Candidate> candidates, const PredictOptions& options);

// The plan, or nothing where the strategy has none within the scenario's limits.
std::optional<Schedule> plan_within_limits(const Scenario& scenario, const Policy& policy);
Error nobody_keeps_limits(const Scenario& scenario);

// Plans and predicts all policies of `auto` with the scenario's network model, and chooses.
ChosenPolicy best_policy(const Scenario& scenario);

}  // namespace refit
