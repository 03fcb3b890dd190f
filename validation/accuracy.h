#pragma once

#include <vector>

#include "sim/network_model.h"
#include "validation/calibration.h"
#include "validation/result.h"
#include "validation/row_run.h"

namespace refit {

// How far the default network model is off, on the rows that the program carries.
// Error(check_failed) if a miss is not explained.
Accuracy accuracy(const Say& say = {});

// The model's constants beside what is plausible and what fits without one scenario say.
std::vector<ConstantLine> constant_lines(const NetworkModel& model, const std::vector<Fold>& folds);

}  // namespace refit
