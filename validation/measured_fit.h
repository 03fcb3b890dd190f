#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sim/network_model.h"
#include "validation/measured_series.h"

namespace refit {

// A constant that measured times tell, by a straight line through them.
struct MeasuredConstant {
  std::size_t parameter = 0;  // index into network_parameters()
  double value = 0;           // may be outside what physics allows, as the times say it
  double log_sigma = 0;       // one sigma of its logarithm
  int points = 0;
  std::vector<std::string> files;  // base names, in order, each once

  bool is_plausible() const;
};

struct MeasuredFit {
  std::vector<MeasuredConstant> constants;  // in the order of network_parameters()
  double condition = 0;
  double rms = 0;                  // of predicted / measured - 1, of the points used
  std::vector<std::string> notes;  // what a reader should know: "a.log: no floor ..."

  struct Residual {
    std::size_t series = 0, point = 0;
    double predicted_s = 0;
    bool used = false;  // not those between floor and plateau
  };
  std::vector<Residual> residuals;  // of all points
};

// Least squares on relative errors, robust against single outliers. Of a sweep count the floor
// (small messages that all take about as long: the cost of a call) and the plateau (large ones at
// nearly the best rate: the efficiency). What the times do not tell stays as in `start`.
// Error(bad_input) if they tell nothing.
MeasuredFit fit_measured(const std::vector<MeasuredSeries>& series, const NetworkModel& start);

// `start` with the fitted constants, their sources and how sure they are.
NetworkModel with_measured(const NetworkModel& start, const MeasuredFit& fit,
                           const std::string& name);

// Each constant in a line, then notes; and a table of predicted beside measured times.
std::string measured_fit_text(const MeasuredFit& fit);
std::string residuals_text(const std::vector<MeasuredSeries>& series, const MeasuredFit& fit);

}  // namespace refit
