#pragma once

#include <string>
#include <vector>

#include "models/refit.h"
#include "schedule/recovery.h"
#include "sim/predict.h"

namespace refit {

// A rank that is lost in the middle of a refit: killed, stalled, or its links dark.
struct Fault {
  Rank rank;
  double fraction = 0.5;      // of the undisturbed refit, if at_s is negative
  double at_s = -1;           // seconds from the start
  double detection_s = 0.05;  // until all survivors know
};

// What becomes of the refit under the policy `shrink`: survivors keep what they have and fetch what
// is missing from whoever has it.
struct FaultPrediction {
  double undisturbed_s = 0;
  double fault_s = 0;
  double detected_s = 0;
  double makespan_s = 0;             // until every surviving destination is whole
  std::int64_t recovered_bytes = 0;  // sent after the fault was known
  std::vector<Rank> dropped;
  std::vector<std::string> unserved;  // not empty: the refit can't be completed
};

FaultPrediction predict_fault(const Schedule& schedule, const Refit& refit, const Cluster& cluster,
                              const Fault& fault, const PredictOptions& options = {});

}  // namespace refit
