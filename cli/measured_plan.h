#pragma once

#include <string>

#include "cli/run_case.h"
#include "report/run_report.h"
#include "sim/prediction.h"

namespace refit {

// A plan, a run of it, and what was to be expected of that run: of the plan as it was scaled, by
// links alone, with what the run's transport leaves of them.
struct MeasuredPlan {
  RunCase run;
  RunReport report;
  Prediction prediction;
};

// Error(bad_input) if the first file is no plan, the second no run of it, or a rank was lost in it.
// `verb`: who asks, for the message.
MeasuredPlan load_measured_plan(const std::string& plan, const std::string& measurement,
                                const std::string& verb);

}  // namespace refit
