#pragma once

#include <functional>
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

// What is going on, for people who wait.
using Say = std::function<void(const std::string&)>;

// Equal for rows of the same model, machines and layouts, whatever the system.
std::string layout_of(const PublishedRow& row);
FitRow keys_of(const PublishedRow& row, const std::string& system);

// The verified plan of a question; or why the planner refuses its layouts.
std::variant<RowRun, RowSkip> plan_question(const PublishedRow& row, const RowCase& question);
// The plan of a row; or why there is nothing to plan, or no time to compare with.
std::variant<RowRun, RowSkip> plan_row(const PublishedRow& row);
// All rows that have one. Plans stay in memory, a few MB each.
RowRuns plan_rows(const std::vector<PublishedRow>& rows, const Say& say = {});

// What a model says of one row.
struct RowPrediction {
  double seconds = 0;
  std::vector<double> parameter_s;  // where they go, by index into network_parameters()
  double latency_s = 0;
};

RowPrediction predict_row(const RowRun& run, const NetworkModel& asked);

// One line that reads back to the last bit.
std::string to_text(const RowPrediction& prediction);
RowPrediction row_prediction(const std::string& text);

// Of all runs, in their order, in workers on all cores. models[i] is run i's.
std::vector<RowPrediction> predict_rows(const std::vector<RowRun>& runs,
                                        const std::vector<NetworkModel>& models);

std::vector<Residual> residuals(const std::vector<RowRun>& runs, const NetworkModel& model);

}  // namespace refit
