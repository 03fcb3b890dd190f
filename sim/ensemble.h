#pragma once

#include "schedule/schedule.h"
#include "sim/ensemble_times.h"
#include "sim/predict.h"
#include "topology/cluster.h"

namespace refit {

inline constexpr int kMembers = 5;

// Always the same factors. The schedule must have passed verify; `members` is 1 or more, and
// `workers` of them are simulated at a time.
Ensemble jittered_ensemble(const Schedule& schedule, const Cluster& cluster,
                           const PredictOptions& options = {}, const Jitter& jitter = kUnknownRates,
                           int members = kMembers, int workers = 1);

}  // namespace refit
