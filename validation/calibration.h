#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/network_model.h"
#include "validation/fit.h"
#include "validation/row_run.h"

namespace refit {

// Constants that were fitted without some of the rows.
struct Fold {
  enum class Kind { scenario, system, hardware };
  Kind kind = Kind::scenario;
  std::string left_out;        // value of that key
  std::vector<double> values;  // of the constants of the model's uncertainty, in that order

  friend bool operator==(const Fold&, const Fold&) = default;
};

std::string_view to_string(Fold::Kind kind);
const std::string& key_of(const FitRow& row, Fold::Kind kind);

struct Calibration {
  NetworkModel model;  // the fitted constants, how sure they are, and from where
  Fit fit;
  std::vector<Fold> folds;
};

// The constants that explain the rows best, and those without each scenario, system and kind of
// machine. Constants that no row's prediction depends on stay as they are in `start`, and so does
// what no fit may touch: the rate of conversions.
Calibration calibrate(const std::vector<RowRun>& runs, const NetworkModel& start,
                      const std::string& name, const std::string& source);

// Files that read_network_model() and read_folds() take.
std::string network_model_yaml(const Calibration& calibration);
std::string folds_yaml(const Calibration& calibration);
// Error(bad_input) if the folds are of other constants than the model's.
std::vector<Fold> read_folds(const std::string& text, const std::string& name,
                             const NetworkModel& model);
// Those of the default network model.
std::vector<Fold> shipped_folds();

}  // namespace refit
