#include "sim/attribution.h"

#include <algorithm>
#include <cmath>

#include "sim/network_parameters.h"

namespace refit {

double Attribution::elasticity(std::size_t parameter) const {
  if (total_s <= 0) return 0;
  const double share = parameter_s[parameter] / total_s;
  return costs_per_piece(network_parameters()[parameter].kind) ? share : -share;
}

double log_variance(const std::vector<double>& elasticity,
                    const NetworkModel::Uncertainty& uncertainty) {
  const std::vector<std::size_t>& parameters = uncertainty.parameters;
  double variance = 0;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    for (std::size_t j = 0; j < parameters.size(); ++j) {
      variance += elasticity[parameters[i]] * uncertainty.covariance[i * parameters.size() + j] *
                  elasticity[parameters[j]];
    }
  }
  return variance;
}

Band band_of(const Attribution& attribution, const NetworkModel::Uncertainty& uncertainty) {
  std::vector<double> elasticity;
  for (std::size_t p = 0; p < attribution.parameter_s.size(); ++p)
    elasticity.push_back(attribution.elasticity(p));
  const double variance =
      log_variance(elasticity, uncertainty) + uncertainty.model_error * uncertainty.model_error;
  const double factor = std::exp(kSigmasOf80Percent * std::sqrt(std::max(0.0, variance)));
  return {attribution.total_s / factor, attribution.total_s * factor};
}

}  // namespace refit
