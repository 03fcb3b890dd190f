#pragma once

#include "schedule/schedule.h"
#include "sim/predict.h"
#include "topology/cluster.h"

namespace refit {

// Predictions of one schedule on clusters that differ by less than anybody knows them: every link's
// rate times a factor of its own within kJitter of 1. Max-min sharing answers small changes with
// changes of a per cent or more, so a difference below the spread means nothing.
struct Ensemble {
  double least_s = 0, median_s = 0, most_s = 0;

  double spread_s() const { return most_s - least_s; }
};

inline constexpr double kJitter = 0.01;
inline constexpr int kMembers = 5;

// Always the same factors. The schedule must have passed verify.
Ensemble jittered_ensemble(const Schedule& schedule, const Cluster& cluster,
                           const PredictOptions& options = {});

}  // namespace refit
