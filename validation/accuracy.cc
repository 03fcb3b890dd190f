#include "validation/accuracy.h"

#include <algorithm>
#include <cmath>

#include "planner/systems.h"
#include "sim/network_parameters.h"
#include "validation/misses.h"
#include "validation/near_rows.h"
#include "validation/validate.h"

namespace refit {

std::vector<ConstantLine> constant_lines(const NetworkModel& model,
                                         const std::vector<Fold>& folds) {
  std::vector<ConstantLine> lines;
  for (std::size_t p = 0; p < network_parameters().size(); ++p) {
    const NetworkParameter& parameter = network_parameters()[p];
    const double value = model.*parameter.value;
    ConstantLine line;
    line.key = parameter.key;
    line.meaning = parameter.meaning;
    const bool absent = value == 0 && costs_per_piece(parameter.kind);  // what it prices is free
    line.value = absent ? "none" : parameter_text(parameter, value);
    line.plausible_low = parameter_text(parameter, parameter.low);
    line.plausible_high = parameter_text(parameter, parameter.high);
    line.outside = !absent && (value < parameter.low || value > parameter.high);
    double low = value, high = value;
    if (model.uncertainty) {
      const std::vector<std::size_t>& fitted = model.uncertainty->parameters;
      const auto at = static_cast<std::size_t>(std::ranges::find(fitted, p) - fitted.begin());
      if (at < fitted.size()) {
        line.sigma = std::exp(std::sqrt(model.uncertainty->covariance[at * fitted.size() + at]));
        for (const Fold& fold : folds) {
          if (fold.kind != Fold::Kind::scenario) continue;
          low = std::min(low, fold.values[at]);
          high = std::max(high, fold.values[at]);
        }
      }
    }
    line.low = parameter_text(parameter, low);
    line.high = parameter_text(parameter, high);
    lines.push_back(std::move(line));
  }
  return lines;
}

Accuracy accuracy(const Say& say) {
  const NetworkModel model = catalog_network_model("default");
  const std::vector<Fold> folds = shipped_folds();
  const std::vector<PublishedRow> rows = published_rows();
  Accuracy result;
  result.validation = validate(rows, model, folds, say);
  result.misses = shipped_misses();
  require_explained(result.validation, result.misses);
  result.constants = constant_lines(model, folds);
  if (model.uncertainty) result.condition = condition_of(model.uncertainty->covariance);
  for (const System& system : systems()) {
    const auto has_row = [&](const std::vector<ValidationRow>& list) {
      return std::ranges::find(list, system.name, &ValidationRow::system) != list.end();
    };
    if (!has_row(result.validation.rows) && !has_row(result.validation.reproduced))
      result.uncalibrated.emplace_back(system.name);
  }
  if (say) say("predicting refits that are near published ones");
  result.scale = scale_series(rows, model);
  result.streams = streams_series(rows, model);
  return result;
}

}  // namespace refit
