#include "validation/row_run.h"

#include <cmath>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/workers.h"
#include "models/parcels.h"
#include "planner/plan.h"
#include "schedule/verify.h"
#include "sim/attribution.h"
#include "sim/flow_bound.h"
#include "sim/network_parameters.h"
#include "sim/predict.h"

namespace refit {

std::string layout_of(const PublishedRow& row) {
  return fmt::format("{} | {} | {} | {}", row.model, row.train_gpu_type, row.train_layout,
                     row.infer_layout);
}

FitRow keys_of(const PublishedRow& row, const std::string& system) {
  return {row.id, fmt::format("{} | {}", system, layout_of(row)), system, row.train_gpu_type};
}

namespace {

RowRun planned(const PublishedRow& row, const RowCase& question) {
  RowRun run{row,
             question,
             keys_of(row, question.system),
             parse_scenario(question.scenario_yaml, "row " + row.id),
             {},
             0};
  const Scenario& s = run.scenario;
  const Policy policy = named_policy(run.question.system);
  run.plan = plan(s.refit, s.cluster, policy, s.plan);
  const Diagnostics findings = verify(run.plan, s.refit);
  if (!findings.empty()) {
    throw Error(ErrorCode::check_failed,
                fmt::format("row {}: the {} plan is not correct: {}: {}", row.id,
                            run.question.system, findings.front().where, findings.front().message));
  }
  std::vector<Parcel> parcels = find_parcels(s.refit);
  if (policy.coded) code_parcels(s.refit, s.plan.delta.value(), parcels);
  run.bound_s = flow_bound(parcels, s.cluster).seconds;
  return run;
}

}  // namespace

std::variant<RowRun, RowSkip> plan_question(const PublishedRow& row, const RowCase& question) {
  try {
    return planned(row, question);
  } catch (const Error& error) {
    // A plan that is not correct is our mistake, not the row's.
    if (error.code() == ErrorCode::check_failed) throw;
    return RowSkip{"train_layout", error.what()};
  }
}

std::variant<RowRun, RowSkip> plan_row(const PublishedRow& row) {
  const std::variant<RowCase, RowSkip> question = row_case(row);
  if (const auto* skip = std::get_if<RowSkip>(&question)) return *skip;
  if (row.time_s.value_or(0) <= 0) return RowSkip{"time_s", "no time to compare with"};
  return plan_question(row, std::get<RowCase>(question));
}

RowRuns plan_rows(const std::vector<PublishedRow>& rows, const Say& say) {
  RowRuns result;
  for (const PublishedRow& row : rows) {
    if (say) say(fmt::format("planning row {} of {}", &row - rows.data() + 1, rows.size()));
    std::variant<RowRun, RowSkip> run = plan_row(row);
    if (const auto* skip = std::get_if<RowSkip>(&run)) {
      result.skipped.push_back({row.id, skip->field, skip->reason});
    } else {
      result.runs.push_back(std::get<RowRun>(std::move(run)));
    }
  }
  return result;
}

RowPrediction predict_row(const RowRun& run, const NetworkModel& asked) {
  const NetworkModel& model = run.question.own_network ? run.scenario.network_model : asked;
  Prediction prediction = predict(run.plan, run.scenario.cluster, {model, {}, {}, true});
  Attribution& where = prediction.attribution.value();
  return {prediction.makespan_s, std::move(where.parameter_s), where.latency_s};
}

std::string to_text(const RowPrediction& prediction) {
  std::string text = fmt::format("{} {}", prediction.seconds, prediction.latency_s);
  for (const double seconds : prediction.parameter_s) text += fmt::format(" {}", seconds);
  return text;
}

RowPrediction row_prediction(const std::string& text) {
  std::istringstream in(text);
  RowPrediction prediction;
  in >> prediction.seconds >> prediction.latency_s;
  for (double seconds = 0; in >> seconds;) prediction.parameter_s.push_back(seconds);
  return prediction;
}

std::vector<RowPrediction> predict_rows(const std::vector<RowRun>& runs,
                                        const std::vector<NetworkModel>& models) {
  std::vector<Job> jobs;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    jobs.push_back(
        {runs[i].row.id, [&runs, &models, i] { return to_text(predict_row(runs[i], models[i])); }});
  }
  std::vector<RowPrediction> predictions;
  for (const std::string& text : run_in_workers(jobs, all_cores(), [](std::size_t) {}))
    predictions.push_back(row_prediction(text));
  return predictions;
}

std::vector<Residual> residuals(const std::vector<RowRun>& runs, const NetworkModel& model) {
  std::vector<Residual> result;
  const std::vector<NetworkModel> models(runs.size(), model);
  const std::vector<RowPrediction> predictions = predict_rows(runs, models);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const Attribution where{predictions[i].parameter_s, predictions[i].latency_s,
                            predictions[i].seconds};
    Residual residual{std::log(predictions[i].seconds / *runs[i].row.time_s), {}};
    for (std::size_t p = 0; p < network_parameters().size(); ++p)
      residual.elasticity.push_back(where.elasticity(p));
    result.push_back(std::move(residual));
  }
  return result;
}

}  // namespace refit
