#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace refit {

// One published time beside what is predicted for it.
struct ValidationRow {
  std::string id, system, model, hardware, grade;
  double model_gb = 0;   // of one copy of the weights
  std::string scenario;  // equal for rows that tell of one and the same setting
  double published_s = 0;
  double predicted_s = 0;
  double low_s = 0, high_s = 0;  // 80 % band
  double bound_s = 0;            // no correct plan is faster on these links
  // Predicted by constants that were fitted without this row's scenario or whole system; as the
  // prediction where the row was in no fit.
  double left_out_s = 0;
  double left_out_low_s = 0, left_out_high_s = 0;
  std::optional<double> system_out_s;
  std::string dominant_phase;
  std::map<std::string, double> phase_s;  // seconds by constant of the network model
  std::vector<std::string> assumptions;

  double ratio() const { return predicted_s / published_s; }
  double error() const { return predicted_s / published_s - 1; }
  double held_out_error() const { return left_out_s / published_s - 1; }
};

struct SkippedRow {
  std::string id;
  std::string field;  // column that is missing or can't be understood
  std::string reason;
};

struct Validation {
  std::string source;  // of the rows
  std::string network_model;
  bool frozen = false;  // the rows were in no fit
  std::vector<ValidationRow> rows;
  std::vector<SkippedRow> skipped;
};

}  // namespace refit
