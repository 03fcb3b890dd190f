#pragma once

#include <vector>

#include "sim/network_model.h"

namespace refit {

// Where a predicted time goes. The last op to end waited for another, that for a third, and so on
// to the start: each second of this chain is on the account of one constant of the network model.
struct Attribution {
  std::vector<double> parameter_s;  // by index into network_parameters()
  double latency_s = 0;             // of links
  double total_s = 0;

  // How much the time grows, in percent, where the constant grows by one percent.
  double elasticity(std::size_t parameter) const;
};

// The times between which the true one lies with a probability of 80 %, as far as the constants'
// own covariance and what the model is off by besides tell.
struct Band {
  double low_s = 0;
  double high_s = 0;
};
// One in ten lies below, one in ten above so many sigmas.
inline constexpr double kSigmasOf80Percent = 1.2815515655446004;

// Of the logarithm of a prediction that moves so with each constant (by index into
// network_parameters()), from the constants' covariance alone.
double log_variance(const std::vector<double>& elasticity,
                    const NetworkModel::Uncertainty& uncertainty);

Band band_of(const Attribution& attribution, const NetworkModel::Uncertainty& uncertainty);

}  // namespace refit
