#include "validation/validate.h"

#include <algorithm>
#include <array>
#include <optional>
#include <sstream>
#include <variant>

#include <fmt/format.h>

#include "base/workers.h"
#include "sim/attribution.h"
#include "sim/network_parameters.h"

namespace refit {
namespace {

constexpr std::array kKinds = {Fold::Kind::scenario, Fold::Kind::system, Fold::Kind::hardware};

const Fold* fold_of(const std::vector<Fold>& folds, const FitRow& row, Fold::Kind kind) {
  const auto found = std::find_if(folds.begin(), folds.end(), [&](const Fold& fold) {
    return fold.kind == kind && fold.left_out == key_of(row, kind);
  });
  return found == folds.end() ? nullptr : &*found;
}

// What a worker finds out about a row.
struct Findings {
  std::string system;
  bool own_network = false;  // so that no constant of the fit matters
  double model_gb = 0, bound_s = 0;
  RowPrediction fitted;
  // Without the row's scenario, system and machine, in the order of kKinds; as fitted where that is
  // in no fold.
  std::array<RowPrediction, kKinds.size()> left_out;
  std::vector<std::string> assumptions;
};

Findings find_out(const RowRun& run, const NetworkModel& model, const std::vector<Fold>& folds) {
  Findings found{run.question.system,
                 run.question.own_network,
                 static_cast<double>(run.scenario.refit.unique_bytes()) / 1e9,
                 run.bound_s,
                 predict_row(run, model),
                 {},
                 run.question.assumptions};
  for (std::size_t i = 0; i < kKinds.size(); ++i) {
    const Fold* fold = found.own_network ? nullptr : fold_of(folds, run.keys, kKinds[i]);
    found.left_out[i] =
        fold == nullptr
            ? found.fitted
            : predict_row(run, with_values(model, model.uncertainty->parameters, fold->values));
  }
  return found;
}

// Line by line: whether there are findings, then either these or a skip, whose reason is the rest.
std::string to_text(const std::variant<Findings, RowSkip>& outcome) {
  if (const auto* skip = std::get_if<RowSkip>(&outcome))
    return fmt::format("skip\n{}\n{}", skip->field, skip->reason);
  const auto& found = std::get<Findings>(outcome);
  std::string text = fmt::format("row\n{}\n{:d}\n{}\n{}\n{}\n", found.system, found.own_network,
                                 found.model_gb, found.bound_s, to_text(found.fitted));
  for (const RowPrediction& prediction : found.left_out) text += to_text(prediction) + "\n";
  for (const std::string& assumption : found.assumptions) text += assumption + "\n";
  return text;
}

std::variant<Findings, RowSkip> from_text(const std::string& text) {
  std::istringstream in(text);
  const auto line = [&in] {
    std::string words;
    std::getline(in, words);
    return words;
  };
  if (line() == "skip") {
    RowSkip skip{line(), ""};
    std::getline(in, skip.reason, '\0');
    return skip;
  }
  Findings found;
  found.system = line();
  found.own_network = line() == "1";
  found.model_gb = std::stod(line());
  found.bound_s = std::stod(line());
  found.fitted = row_prediction(line());
  for (RowPrediction& prediction : found.left_out) prediction = row_prediction(line());
  for (std::string words; std::getline(in, words);) found.assumptions.push_back(words);
  return found;
}

std::vector<std::string> outcomes(const std::vector<PublishedRow>& rows, const NetworkModel& model,
                                  const std::vector<Fold>& folds, const Say& say) {
  std::vector<Job> jobs;
  for (const PublishedRow& row : rows) {
    const auto work = [&row, &model, &folds]() -> std::string {
      const std::variant<RowRun, RowSkip> run = plan_row(row);
      if (const auto* skip = std::get_if<RowSkip>(&run)) return to_text(*skip);
      return to_text(find_out(std::get<RowRun>(run), model, folds));
    };
    jobs.push_back(
        {"row " + row.id, work, row.train_gpus.value_or(0) + row.infer_gpus.value_or(0)});
  }
  return run_in_workers(jobs, all_cores(), [&](std::size_t count) {
    if (say) say(fmt::format("planned and predicted {} of {} rows", count, rows.size()));
  });
}

Band band(const RowPrediction& prediction, const NetworkModel& model) {
  if (!model.uncertainty) return {prediction.seconds, prediction.seconds};
  return band_of({prediction.parameter_s, prediction.latency_s, prediction.seconds},
                 *model.uncertainty);
}

ValidationRow row_of(const PublishedRow& published, const Findings& found,
                     const NetworkModel& model, const std::vector<Fold>& folds) {
  const FitRow keys = keys_of(published, found.system);
  ValidationRow row;
  row.id = published.id;
  row.system = found.system;
  row.model = published.model;
  row.hardware = keys.hardware;
  row.grade = published.validation_grade;
  row.scenario = keys.scenario;
  row.layout = layout_of(published);
  row.assumptions = found.assumptions;
  row.model_gb = found.model_gb;
  row.published_s = *published.time_s;
  row.predicted_s = found.fitted.seconds;
  row.bound_s = found.bound_s;
  NetworkModel own = model;
  if (found.own_network) own.uncertainty = std::nullopt;
  const Band here = band(found.fitted, own);
  row.low_s = std::max(here.low_s, std::min(row.bound_s, row.predicted_s));
  row.high_s = here.high_s;
  const auto& [scenario, system, hardware] = found.left_out;
  row.left_out_s = scenario.seconds;
  const Band there = band(scenario, own);
  row.left_out_low_s = there.low_s;
  row.left_out_high_s = there.high_s;
  const auto in_fold = [&](Fold::Kind kind) {
    return !found.own_network && fold_of(folds, keys, kind) != nullptr;
  };
  if (in_fold(Fold::Kind::system)) row.system_out_s = system.seconds;
  if (in_fold(Fold::Kind::hardware)) row.hardware_out_s = hardware.seconds;
  double most = 0;
  for (std::size_t p = 0; p < network_parameters().size(); ++p) {
    const double seconds = found.fitted.parameter_s[p];
    if (seconds <= 0) continue;
    const std::string key(network_parameters()[p].key);
    row.phase_s[key] = seconds;
    if (seconds > most) {
      most = seconds;
      row.dominant_phase = key;
    }
  }
  return row;
}

}  // namespace

Validation validate(const std::vector<PublishedRow>& rows, const NetworkModel& model,
                    const std::vector<Fold>& folds, const Say& say) {
  Validation result;
  result.network_model = model.name;
  const std::vector<std::string> texts = outcomes(rows, model, folds, say);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::variant<Findings, RowSkip> outcome = from_text(texts[i]);
    if (const auto* skip = std::get_if<RowSkip>(&outcome)) {
      result.skipped.push_back({rows[i].id, skip->field, skip->reason});
    } else {
      const auto& found = std::get<Findings>(outcome);
      (found.own_network ? result.reproduced : result.rows)
          .push_back(row_of(rows[i], found, model, folds));
    }
  }
  return result;
}

}  // namespace refit
