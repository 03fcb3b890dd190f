#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "report/table.h"
#include "validation/result.h"

namespace refit {

// Errors are |predicted / published - 1| and count rows.
struct ErrorSummary {
  std::size_t rows = 0;
  double median_error = 0;                  // by the constants that are used
  double held_out_median = 0;               // by constants fitted without the row's scenario
  std::optional<double> system_out_median;  // without its system, where such constants are known
  double worst_held_out = 0;
  double within_25_percent = 0;  // share of rows, held out
  double inside_band = 0;       // share of rows whose published time lies in the held-out 80 % band
  std::size_t under_bound = 0;  // predictions below the bound
  // Of what a GB/s per system, from its other scenarios, would say.
  std::optional<double> rule_median;
  std::size_t rows_with_rule = 0;  // of whose systems there are other scenarios
  double nearer_than_rule = 0;     // share of these that is held out and still nearer than the rule
};

ErrorSummary summary_of(const std::vector<ValidationRow>& rows);
std::vector<ValidationRow> rows_where(const Validation& validation,
                                      const std::function<bool(const ValidationRow&)>& wanted);

// Of absolute errors; all 0 if there are none.
struct ErrorSpread {
  std::size_t rows = 0;
  double median = 0;
  double four_in_five = 0;  // the least error that no fewer than 80 % of rows keep within
  double worst = 0;
};
double median(std::vector<double> values);  // 0 of none
ErrorSpread spread_of(std::vector<double> errors);

// "+9 %" and "9.3 %".
std::string signed_percent(double share);
std::string percent(double share);

Table rows_table(const Validation& validation);
Table reproduced_table(const Validation& validation);
Table skipped_table(const Validation& validation);
Table summary_table(const Validation& validation);  // by grade, system and machine

// These three as text.
std::string validation_table(const Validation& validation, Paint paint = Paint::off);

// Format "refit.validation/1".
std::string validation_json(const Validation& validation);

}  // namespace refit
