#pragma once

#include <string>
#include <vector>

#include "validation/calibration.h"
#include "validation/result.h"
#include "validation/row_run.h"

namespace refit {

// Predicts the rows with a model's constants, and those that `folds` know with the constants that
// were fitted without them. Fits nothing. Rows are planned and predicted in workers on all cores.
Validation validate(const std::vector<PublishedRow>& rows, const NetworkModel& model,
                    const std::vector<Fold>& folds, const Say& say = {});

}  // namespace refit
