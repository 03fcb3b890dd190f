#include "validation/calibration.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/embedded.h"
#include "base/yaml.h"
#include "sim/attribution.h"
#include "sim/network_parameters.h"
#include "validation/network_model_yaml.h"

namespace refit {

std::span<const EmbeddedFile> fold_files();  // generated from data/folds.yaml

namespace {

constexpr double kShareInside = 0.8;  // of left-out rows, in a band of 80 %

// Constants with a part in some row's time. One that makes up a thousandth of one row would be
// fitted to noise.
std::vector<std::size_t> constants_that_matter(const std::vector<Residual>& residuals) {
  std::vector<std::size_t> matter;
  for (std::size_t p = 0; p < network_parameters().size(); ++p) {
    const bool any = std::any_of(residuals.begin(), residuals.end(), [&](const Residual& r) {
      return std::abs(r.elasticity[p]) > 1e-3;
    });
    if (any && network_parameters()[p].fitted) matter.push_back(p);
  }
  return matter;
}

// A constant that costs nothing in `start` is in no prediction and could never be fitted.
NetworkModel nothing_free(NetworkModel model) {
  for (const NetworkParameter& p : network_parameters())
    if (model.*p.value == 0) model.*p.value = std::sqrt(p.low * p.high);
  return model;
}

// What predictions are off by besides their constants: so much that four in five rows whose
// scenario was left out lie in their band.
double model_error(const std::vector<RowRun>& runs, const Fit& fit,
                   const std::vector<double>& left_out_logs,
                   const NetworkModel::Uncertainty& uncertainty) {
  std::map<std::string, double> twins;
  for (const RowRun& run : runs) ++twins[run.keys.scenario];
  std::vector<std::pair<double, double>> needed;  // error and weight
  for (std::size_t r = 0; r < runs.size(); ++r) {
    const double z = left_out_logs[r] / kSigmasOf80Percent;
    const double rest = z * z - log_variance(fit.residuals[r].elasticity, uncertainty);
    needed.emplace_back(std::sqrt(std::max(0.0, rest)), 1 / twins[runs[r].keys.scenario]);
  }
  std::sort(needed.begin(), needed.end());
  double inside = 0;
  for (const auto& [error, weight] : needed) {
    inside += weight / static_cast<double>(twins.size());
    if (inside >= kShareInside) return error;
  }
  return needed.empty() ? 0 : needed.back().first;
}

std::vector<Fold> folds_of(const std::vector<RowRun>& runs, const std::vector<FitRow>& rows,
                           const Fit& fit) {
  std::vector<Fold> folds;
  for (const Fold::Kind kind : {Fold::Kind::scenario, Fold::Kind::system, Fold::Kind::hardware}) {
    std::set<std::string> keys;
    for (const RowRun& run : runs) keys.insert(key_of(run.keys, kind));
    for (const std::string& key : keys) {
      folds.push_back({kind, key, without(fit, rows, [&](const FitRow& row) {
                         return key_of(row, kind) == key;
                       })});
    }
  }
  return folds;
}

std::vector<double> left_out_logs(const std::vector<RowRun>& runs, const Calibration& calibration) {
  std::vector<NetworkModel> models;
  for (const RowRun& run : runs) {
    const auto fold =
        std::find_if(calibration.folds.begin(), calibration.folds.end(), [&](const Fold& f) {
          return f.kind == Fold::Kind::scenario && f.left_out == run.keys.scenario;
        });
    models.push_back(with_values(calibration.model, calibration.fit.free, fold->values));
  }
  const std::vector<RowPrediction> predictions = predict_rows(runs, models);
  std::vector<double> logs;
  for (std::size_t r = 0; r < runs.size(); ++r)
    logs.push_back(std::log(predictions[r].seconds / *runs[r].row.time_s));
  return logs;
}

}  // namespace

std::string_view to_string(Fold::Kind kind) {
  switch (kind) {
    case Fold::Kind::scenario:
      return "scenario";
    case Fold::Kind::system:
      return "system";
    case Fold::Kind::hardware:
      return "hardware";
  }
  return "?";
}

const std::string& key_of(const FitRow& row, Fold::Kind kind) {
  return kind == Fold::Kind::scenario ? row.scenario
         : kind == Fold::Kind::system ? row.system
                                      : row.hardware;
}

Calibration calibrate(const std::vector<RowRun>& runs, const NetworkModel& start,
                      const std::string& name, const std::string& source) {
  std::vector<FitRow> rows;
  for (const RowRun& run : runs) rows.push_back(run.keys);
  const Evaluate evaluate = [&](const NetworkModel& model) { return residuals(runs, model); };
  const NetworkModel from = nothing_free(start);
  const std::vector<std::size_t> free = constants_that_matter(evaluate(from));

  Calibration calibration;
  calibration.fit = fit(rows, free, from, evaluate);
  calibration.folds = folds_of(runs, rows, calibration.fit);
  calibration.model = with_values(start, free, calibration.fit.values);
  calibration.model.name = name;
  calibration.model.uncertainty = {free, calibration.fit.covariance, 0};
  std::vector<NetworkModel::Source> sources;
  for (std::size_t p = 0; p < network_parameters().size(); ++p) {
    const NetworkParameter& parameter = network_parameters()[p];
    const double value = calibration.model.*parameter.value;
    const auto at = std::find(free.begin(), free.end(), p);
    if (at == free.end()) {
      const auto kept = std::find_if(start.sources.begin(), start.sources.end(),
                                     [&](auto& s) { return s.parameter == parameter.key; });
      if (kept != start.sources.end()) sources.push_back(*kept);
      continue;
    }
    const auto i = static_cast<std::size_t>(at - free.begin());
    const double sigma = std::sqrt(calibration.fit.covariance[i * free.size() + i]);
    double low = value, high = value;
    for (const Fold& fold : calibration.folds) {
      if (fold.kind != Fold::Kind::scenario) continue;
      low = std::min(low, fold.values[i]);
      high = std::max(high, fold.values[i]);
    }
    sources.push_back(
        {std::string(parameter.key), parameter_text(parameter, value),
         fmt::format("{}; one sigma is a factor of {:.2f}; {} to {} with one scenario "
                     "left out; plausible from {} to {}",
                     source, std::exp(sigma), parameter_text(parameter, low),
                     parameter_text(parameter, high), parameter_text(parameter, parameter.low),
                     parameter_text(parameter, parameter.high))});
  }
  sources.push_back({"latencies", start.latencies ? "true" : "false", "the cluster description"});
  calibration.model.sources = std::move(sources);
  calibration.model.uncertainty->model_error = model_error(
      runs, calibration.fit, left_out_logs(runs, calibration), *calibration.model.uncertainty);
  return calibration;
}

std::string network_model_yaml(const Calibration& calibration) {
  const Fit& fit = calibration.fit;
  std::set<std::string> scenarios;
  for (const Fold& fold : calibration.folds)
    if (fold.kind == Fold::Kind::scenario) scenarios.insert(fold.left_out);
  return network_model_yaml(
      calibration.model,
      {fmt::format("Written by `refit calibrate`; do not edit. Fitted to {} rows in {} scenarios:",
                   fit.residuals.size(), scenarios.size()),
       fmt::format(
           "half chi-square {:.2f} of it {:.2f} by the rows, {} steps, condition number {:.0f}.",
           fit.objective, fit.misfit, fit.iterations, fit.condition)});
}

std::string folds_yaml(const Calibration& calibration) {
  std::vector<std::string_view> keys;
  for (const std::size_t p : calibration.fit.free) keys.push_back(network_parameters()[p].key);
  std::string text = fmt::format(
      "# Written by `refit calibrate`; do not edit. Constants of the fit without one scenario, "
      "system "
      "or kind\n# of machine, in seconds, bytes per second and shares of line rate.\nparameters: "
      "[{}]\nfolds:\n",
      fmt::join(keys, ", "));
  for (const Fold& fold : calibration.folds) {
    std::vector<std::string> values;
    for (const double value : fold.values) values.push_back(fmt::format("{:.6g}", value));
    text += fmt::format("  - {{without: {}, key: \"{}\", values: [{}]}}\n", to_string(fold.kind),
                        fold.left_out, fmt::join(values, ", "));
  }
  return text;
}

std::vector<Fold> read_folds(const std::string& text, const std::string& name,
                             const NetworkModel& model) {
  const YamlNode root = YamlNode::parse_text(text, name);
  root.allow_only({"parameters", "folds"});
  std::vector<std::size_t> parameters;
  for (const YamlNode& key : root.at("parameters").items())
    parameters.push_back(network_parameter(key.text()));
  if (!model.uncertainty || parameters != model.uncertainty->parameters) {
    root.at("parameters")
        .fail(fmt::format("not the constants that were fitted for network model {}; let one run of "
                          "'refit calibrate --folds' write both files",
                          model.name));
  }
  const std::size_t size = parameters.size();
  std::vector<Fold> folds;
  for (const YamlNode& node : root.at("folds").items()) {
    node.allow_only({"without", "key", "values"});
    Fold fold;
    fold.kind = node.at("without").one_of<Fold::Kind>({{"scenario", Fold::Kind::scenario},
                                                       {"system", Fold::Kind::system},
                                                       {"hardware", Fold::Kind::hardware}});
    fold.left_out = node.at("key").text();
    for (const YamlNode& value : node.at("values").items()) fold.values.push_back(value.number());
    if (fold.values.size() != size)
      node.at("values").fail(fmt::format("expected {} numbers, one per parameter", size));
    folds.push_back(std::move(fold));
  }
  return folds;
}

std::vector<Fold> shipped_folds() {
  const EmbeddedFile& file = fold_files().front();
  return read_folds(std::string(file.text), "folds of the default network model",
                    catalog_network_model("default"));
}

}  // namespace refit
