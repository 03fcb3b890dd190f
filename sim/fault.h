#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/refit.h"
#include "schedule/fault.h"
#include "schedule/schedule.h"
#include "sim/predict.h"

namespace refit {

// What becomes of a refit that loses ranks. Times count from the start of the refit.
struct FaultPrediction {
  double undisturbed_s = 0;
  double fault_s = 0;
  double detected_s = 0;
  // Until every surviving destination is whole; with policy fail, or if something is unserved,
  // until everybody has stopped.
  double makespan_s = 0;
  std::int64_t recovered_bytes = 0;   // sent after the fault was known
  std::vector<Rank> dropped;          // destinations that are lost
  std::vector<std::string> unserved;  // tensors of which no living rank has all bytes
  bool completed = false;             // all surviving destinations get all of theirs
};

// Error(bad_input) if there is no such rank. A fault that comes after the end changes nothing.
// `undisturbed` is predict(schedule, cluster, options), for who has it already.
FaultPrediction predict_fault(const Schedule& schedule, const Refit& refit, const Cluster& cluster,
                              const FaultSpec& fault, const Prediction& undisturbed,
                              const PredictOptions& options);
FaultPrediction predict_fault(const Schedule& schedule, const Refit& refit, const Cluster& cluster,
                              const FaultSpec& fault, const PredictOptions& options = {});

}  // namespace refit
