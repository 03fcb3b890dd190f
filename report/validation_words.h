#pragma once

#include <functional>
#include <string>
#include <vector>

#include "validation/result.h"

namespace refit {

// Errors are |predicted / published - 1| and count rows.
struct ErrorSummary {
  std::size_t rows = 0;
  double median_error = 0;       // by the constants that are used
  double held_out_median = 0;    // by constants fitted without the row's scenario
  double system_out_median = 0;  // without its system, where such constants are known
  double worst_held_out = 0;
  double within_25_percent = 0;  // share of rows, held out
  double inside_band = 0;       // share of rows whose published time lies in the held-out 80 % band
  std::size_t under_bound = 0;  // predictions below the bound
  double rule_median = 0;       // of what a GB/s per system, from its other scenarios, would say
};

ErrorSummary summary_of(const std::vector<ValidationRow>& rows);
std::vector<ValidationRow> rows_where(const Validation& validation,
                                      const std::function<bool(const ValidationRow&)>& wanted);

// Rows, skipped rows and summaries as text.
std::string validation_table(const Validation& validation);

// Format "refit.validation/1".
std::string validation_json(const Validation& validation);

}  // namespace refit
