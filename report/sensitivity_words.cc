#include "report/sensitivity_words.h"

#include <algorithm>
#include <utility>

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
  std::vector<std::pair<std::string, std::string>> left_out;  // what and why; of which strategies
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
        const std::string reason = fmt::format("{}: {}", what.change, what.row.reason);
        const auto same =
            std::ranges::find(left_out, reason, [](const auto& e) { return e.first; });
        if (same == left_out.end()) {
          left_out.emplace_back(reason, one.strategy);
        } else {
          same->second += ", " + one.strategy;
        }
      }
    }
  }
  std::string text = "\nsensitivity, each planned and predicted anew\n" + table.text(paint);
  if (!left_out.empty()) text += "\nleft out\n";
  for (const auto& [reason, strategies] : left_out)
    text += fmt::format("            {}: {}\n", strategies, reason);
  return text;
}

}  // namespace refit
