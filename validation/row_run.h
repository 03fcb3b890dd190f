#pragma once

#include <string>
#include <variant>
#include <vector>

#include "scenarios/scenario.h"
#include "schedule/schedule.h"
#include "validation/fit.h"
#include "validation/published_row.h"
#include "validation/result.h"
#include "validation/row_case.h"

namespace refit {

// A published row with its plan, ready to be predicted with any constants.
struct RowRun {
  PublishedRow row;
  RowCase question;
  FitRow keys;
  Scenario scenario;
  Schedule plan;
  double bound_s = 0;
};

struct RowRuns {
  std::vector<RowRun> runs;
  std::vector<SkippedRow> skipped;
};

// Plans every row that can be one. Each plan is verified.
RowRuns plan_rows(const std::vector<PublishedRow>& rows);

// What a model says of one row.
struct RowPrediction {
  double seconds = 0;
  std::vector<double> parameter_s;  // where they go, by index into network_parameters()
  double latency_s = 0;
};

// Of all runs, in their order, in workers on all cores. models[i] is run i's.
std::vector<RowPrediction> predict_rows(const std::vector<RowRun>& runs,
                                        const std::vector<NetworkModel>& models);

std::vector<Residual> residuals(const std::vector<RowRun>& runs, const NetworkModel& model);

}  // namespace refit
