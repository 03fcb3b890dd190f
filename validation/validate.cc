#include "validation/validate.h"

#include <algorithm>

#include "sim/attribution.h"
#include "sim/network_parameters.h"

namespace refit {
namespace {

const Fold* fold_of(const std::vector<Fold>& folds, const FitRow& row, Fold::Kind kind) {
  const auto found = std::find_if(folds.begin(), folds.end(), [&](const Fold& fold) {
    return fold.kind == kind && fold.left_out == key_of(row, kind);
  });
  return found == folds.end() ? nullptr : &*found;
}

std::vector<RowPrediction> left_out(const RowRuns& rows, const NetworkModel& model,
                                    const std::vector<Fold>& folds, Fold::Kind kind) {
  std::vector<NetworkModel> models;
  for (const RowRun& run : rows.runs) {
    const Fold* fold = fold_of(folds, run.keys, kind);
    models.push_back(
        fold == nullptr ? model : with_values(model, model.uncertainty->parameters, fold->values));
  }
  return predict_rows(rows.runs, models);
}

Attribution attribution_of(const RowPrediction& prediction) {
  return {prediction.parameter_s, prediction.latency_s, prediction.seconds};
}

Band band(const RowPrediction& prediction, const NetworkModel& model) {
  if (!model.uncertainty) return {prediction.seconds, prediction.seconds};
  return band_of(attribution_of(prediction), *model.uncertainty);
}

}  // namespace

Validation validate(const RowRuns& rows, const NetworkModel& model,
                    const std::vector<Fold>& folds) {
  Validation result;
  result.network_model = model.name;
  result.skipped = rows.skipped;
  const std::vector<RowPrediction> predictions =
      predict_rows(rows.runs, std::vector<NetworkModel>(rows.runs.size(), model));
  const std::vector<RowPrediction> without_scenario =
      folds.empty() ? predictions : left_out(rows, model, folds, Fold::Kind::scenario);
  const std::vector<RowPrediction> without_system =
      folds.empty() ? predictions : left_out(rows, model, folds, Fold::Kind::system);
  for (std::size_t i = 0; i < rows.runs.size(); ++i) {
    const RowRun& run = rows.runs[i];
    ValidationRow row;
    row.id = run.row.id;
    row.system = run.question.system;
    row.model = run.row.model;
    row.hardware = run.keys.hardware;
    row.grade = run.row.validation_grade;
    row.scenario = run.keys.scenario;
    row.assumptions = run.question.assumptions;
    row.model_gb = static_cast<double>(run.scenario.refit.unique_bytes()) / 1e9;
    row.published_s = *run.row.time_s;
    row.predicted_s = predictions[i].seconds;
    row.bound_s = run.bound_s;
    const Band here = band(predictions[i], model);
    row.low_s = std::max(here.low_s, std::min(run.bound_s, row.predicted_s));
    row.high_s = here.high_s;
    row.left_out_s = without_scenario[i].seconds;
    const Band there = band(without_scenario[i], model);
    row.left_out_low_s = there.low_s;
    row.left_out_high_s = there.high_s;
    if (fold_of(folds, run.keys, Fold::Kind::system) != nullptr)
      row.system_out_s = without_system[i].seconds;
    double most = 0;
    for (std::size_t p = 0; p < network_parameters().size(); ++p) {
      const double seconds = predictions[i].parameter_s[p];
      if (seconds <= 0) continue;
      const std::string key(network_parameters()[p].key);
      row.phase_s[key] = seconds;
      if (seconds > most) {
        most = seconds;
        row.dominant_phase = key;
      }
    }
    result.rows.push_back(std::move(row));
  }
  return result;
}

}  // namespace refit
