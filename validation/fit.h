#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "sim/network_model.h"

namespace refit {

// What a model says of one measured time: ln(predicted / measured), and how it moves with each
// constant (d ln predicted / d ln constant, by index into network_parameters()).
struct Residual {
  double log_ratio = 0;
  std::vector<double> elasticity;
};

// One measured time. Rows of one scenario are one fact told several times: they share its weight
// and are left out together.
struct FitRow {
  std::string id;
  std::string scenario, system, hardware;
};

// Residuals of all rows, in their order.
using Evaluate = std::function<std::vector<Residual>(const NetworkModel&)>;

struct Fit {
  std::vector<std::size_t> free;   // constants that were fitted: indices into network_parameters()
  std::vector<double> values;      // of these
  std::vector<double> covariance;  // of their logarithms, row by row
  double objective = 0;            // half the sum of squares, of rows and priors
  double misfit = 0;               // of the rows alone
  double condition = 0;            // of the weighted problem, priors included
  std::vector<Residual> residuals;
  int iterations = 0;
};

// Least squares on the logarithms, each scenario weighing one. Of a constant that no row tells
// anything about the prior is left: the middle of what physics allows, and as unsure as that is
// wide. Starts from `model`; constants outside `free` stay as they are there.
Fit fit(const std::vector<FitRow>& rows, const std::vector<std::size_t>& free,
        const NetworkModel& model, const Evaluate& evaluate);

// The constants that a fit without some rows would have found: one step from the fit of all, whose
// residuals are nearly straight lines in so small a change.
std::vector<double> without(const Fit& fit, const std::vector<FitRow>& rows,
                            const std::function<bool(const FitRow&)>& left_out);

// Condition number of the least-squares problem, priors included, that left this covariance.
double condition_of(const std::vector<double>& covariance);

NetworkModel with_values(NetworkModel model, const std::vector<std::size_t>& parameters,
                         const std::vector<double>& values);

}  // namespace refit
