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
  std::string
      layout;  // equal for rows of the same model, machines and layouts, whatever the system
  double published_s = 0;
  double predicted_s = 0;
  double low_s = 0, high_s = 0;  // 80 % band
  double bound_s = 0;            // no correct plan is faster on these links
  // Predicted by constants that were fitted without this row's scenario, system or kind of machine;
  // as the prediction where the row was in no fit.
  double left_out_s = 0;
  double left_out_low_s = 0, left_out_high_s = 0;
  std::optional<double> system_out_s, hardware_out_s;
  std::string dominant_phase;
  std::map<std::string, double> phase_s;  // seconds by constant of the network model
  std::vector<std::string> assumptions;

  double ratio() const { return predicted_s / published_s; }
  double error() const { return predicted_s / published_s - 1; }
  double held_out_error() const { return left_out_s / published_s - 1; }
  bool is_miss() const { return held_out_error() > 0.25 || held_out_error() < -0.25; }
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
  // Rows with a network model of their own, whose constants are inferred from these very rows: how
  // well the plans and so few constants tell their times, in no statistics.
  std::vector<ValidationRow> reproduced = {};
};

// A constant of the network model, as text in its unit.
struct ConstantLine {
  std::string key, meaning, value;
  std::optional<double> sigma;  // one sigma, as a factor; nothing if it is not fitted
  std::string low, high;        // over the fits without one scenario
  std::string plausible_low, plausible_high;
  bool outside = false;  // of what is plausible: a term is missing
};

// One refit with more GPUs than were published.
struct ScalePoint {
  int gpus = 0;
  std::optional<double> published_s;
  double predicted_s = 0;
};

// A system with so many pipeline stages at the same time.
struct StreamsPoint {
  std::string system;
  int streams = 0;
  std::string published;  // as the publication says it; empty if it doesn't
  double predicted_s = 0;
};

// All that docs/accuracy.md shows.
struct Accuracy {
  Validation validation;
  std::vector<ConstantLine> constants;
  double condition = 0;                       // of the fit, priors included
  std::vector<std::string> uncalibrated;      // presets without a row
  std::map<std::string, std::string> misses;  // row: why it may be off, in a paragraph
  std::vector<ScalePoint> scale;
  std::vector<StreamsPoint> streams;
};

}  // namespace refit
