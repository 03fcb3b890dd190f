#include "report/sensitivity_words.h"

#include <fmt/format.h>

#include "base/units.h"
#include "report/table.h"

namespace refit {
std::string sensitivity_table(const std::vector<Sensitivity>& all, Paint paint) {
  Table table({{"strategy", Align::left},
               {"what if", Align::left},
               {"bound"},
               {"prediction"},
               {"change"},
               {""},
               {"busiest link then", Align::left},
               {"used"},
               {"most time on", Align::left}});
  std::string left_out;
  const auto add = [&](const std::string& strategy, const std::string& change, const SweepRow& row,
                       const SweepRow& base, bool is_base) {
    const double more_s = row.prediction_s - base.prediction_s;
    table.add_row(
        {strategy, change, format_seconds(row.bound_s), format_seconds(row.prediction_s),
         is_base ? "" : more_seconds_cell(more_s),
         is_base || base.prediction_s <= 0 ? "" : more_percent_cell(more_s / base.prediction_s),
         row.busiest_link, fmt::format("{:.0f} %", 100 * row.busiest_used),
         fmt::format("{} {}", row.waits_for, format_seconds(row.waits_s))});
  };
  for (const Sensitivity& one : all) {
    add(one.strategy, "as it is", one.base, one.base, true);
    for (const WhatIf& what : one.what_ifs) {
      if (what.row.outcome == PointOutcome::predicted) {
        add("", what.change, what.row, one.base, false);
      } else {
        left_out +=
            fmt::format("            {}: {}: {}\n", one.strategy, what.change, what.row.reason);
      }
    }
  }
  std::string text = "\nsensitivity, each planned and predicted anew\n" + table.text(paint);
  if (!left_out.empty()) text += "\nleft out\n" + left_out;
  return text;
}

}  // namespace refit
