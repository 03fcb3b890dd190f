#include "report/validation_words.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/units.h"

namespace refit {
namespace {

// What a rate per system would say, taken from its other scenarios: 0 if it has none.
double rule_s(const ValidationRow& row, const std::vector<ValidationRow>& rows) {
  std::vector<double> per_byte;
  for (const ValidationRow& other : rows) {
    if (other.system == row.system && other.scenario != row.scenario && other.model_gb > 0)
      per_byte.push_back(other.published_s / other.model_gb);
  }
  return median(per_byte) * row.model_gb;
}

}  // namespace

std::vector<ValidationRow> rows_where(const Validation& validation,
                                      const std::function<bool(const ValidationRow&)>& wanted) {
  std::vector<ValidationRow> rows;
  std::copy_if(validation.rows.begin(), validation.rows.end(), std::back_inserter(rows), wanted);
  return rows;
}

ErrorSummary summary_of(const std::vector<ValidationRow>& rows) {
  ErrorSummary summary;
  summary.rows = rows.size();
  if (rows.empty()) return summary;
  std::vector<double> errors, held_out, system_out, rule;
  double near = 0, inside = 0, nearer = 0;
  for (const ValidationRow& row : rows) {
    errors.push_back(std::abs(row.error()));
    held_out.push_back(std::abs(row.held_out_error()));
    if (row.system_out_s) system_out.push_back(std::abs(*row.system_out_s / row.published_s - 1));
    if (const double s = rule_s(row, rows); s > 0) {
      rule.push_back(std::abs(s / row.published_s - 1));
      if (held_out.back() < rule.back()) nearer += 1;
    }
    if (!row.is_miss()) near += 1;
    if (row.published_s >= row.left_out_low_s && row.published_s <= row.left_out_high_s)
      inside += 1;
    if (row.predicted_s < row.bound_s * (1 - 1e-9)) ++summary.under_bound;
  }
  summary.median_error = median(errors);
  summary.held_out_median = median(held_out);
  if (!system_out.empty()) summary.system_out_median = median(system_out);
  if (!rule.empty()) summary.rule_median = median(rule);
  summary.rows_with_rule = rule.size();
  if (!rule.empty()) summary.nearer_than_rule = nearer / static_cast<double>(rule.size());
  summary.worst_held_out = *std::max_element(held_out.begin(), held_out.end());
  summary.within_25_percent = near / static_cast<double>(rows.size());
  summary.inside_band = inside / static_cast<double>(rows.size());
  return summary;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

ErrorSpread spread_of(std::vector<double> errors) {
  if (errors.empty()) return {};
  std::sort(errors.begin(), errors.end());
  const std::size_t inside = (errors.size() * 4 + 4) / 5;  // rounded up
  return {errors.size(), median(errors), errors[inside - 1], errors.back()};
}

std::string signed_percent(double share) { return fmt::format("{:+.0f} %", 100 * share); }
std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

Table rows_table(const Validation& v) {
  Table table({{"row", Align::left},
               {"system", Align::left},
               {"model", Align::left},
               {"published", Align::right, "published_s"},
               {"predicted", Align::right, "predicted_s"},
               {"80 % band", Align::right, {}, true},
               {"low_s", Align::unseen},
               {"high_s", Align::unseen},
               {"bound", Align::right, "bound_s"},
               {"ratio"},
               {"left out", Align::right, "left_out"},
               {"most time in", Align::left, "most_time_in"}});
  for (const ValidationRow& row : v.rows) {
    table.add_row({row.id, row.system, row.model, seconds_cell(row.published_s),
                   seconds_cell(row.predicted_s),
                   format_seconds(row.low_s) + " - " + format_seconds(row.high_s),
                   number_cell(row.low_s), number_cell(row.high_s), seconds_cell(row.bound_s),
                   Cell(fmt::format("{:.2f}", row.ratio()), row.ratio()),
                   Cell(signed_percent(row.held_out_error()), row.held_out_error()),
                   row.dominant_phase.empty()
                       ? "-"
                       : fmt::format("{} {:.0f} %", row.dominant_phase,
                                     100 * row.phase_s.at(row.dominant_phase) / row.predicted_s)});
  }
  return table;
}

Table reproduced_table(const Validation& v) {
  Table table({{"row", Align::left},
               {"system", Align::left},
               {"model", Align::left},
               {"published"},
               {"reproduced"},
               {"bound"},
               {"error"}});
  for (const ValidationRow& row : v.reproduced) {
    table.add_row({row.id, row.system, row.model, format_seconds(row.published_s),
                   format_seconds(row.predicted_s), format_seconds(row.bound_s),
                   signed_percent(row.error())});
  }
  return table;
}

Table skipped_table(const Validation& v) {
  Table table({{"skipped", Align::left}, {"lacks", Align::left}, {"why", Align::left}});
  for (const SkippedRow& row : v.skipped) table.add_row({row.id, row.field, row.reason});
  return table;
}

Table summary_table(const Validation& v) {
  Table table({{"of", Align::left},
               {"rows"},
               {"median"},
               {"left out"},
               {"system out"},
               {"worst"},
               {"within 25 %"},
               {"in band"},
               {"GB/s rule"}});
  const auto add = [&](const std::string& name, const std::vector<ValidationRow>& rows) {
    if (rows.empty()) return;
    const ErrorSummary s = summary_of(rows);
    table.add_row({name, fmt::format("{}", s.rows), percent(s.median_error),
                   percent(s.held_out_median),
                   s.system_out_median ? percent(*s.system_out_median) : "-",
                   percent(s.worst_held_out), percent(s.within_25_percent), percent(s.inside_band),
                   s.rule_median ? percent(*s.rule_median) : "-"});
  };
  add("all", v.rows);
  for (const char* grade : {"A", "B", "C"})
    add(fmt::format("grade {}", grade), rows_where(v, [&](auto& r) { return r.grade == grade; }));
  std::set<std::string> systems, machines;
  for (const ValidationRow& row : v.rows) {
    systems.insert(row.system);
    machines.insert(row.hardware);
  }
  for (const std::string& name : systems)
    add(name, rows_where(v, [&](auto& r) { return r.system == name; }));
  for (const std::string& name : machines)
    add(name, rows_where(v, [&](auto& r) { return r.hardware == name; }));
  return table;
}

std::string validation_table(const Validation& v, Paint paint) {
  std::string text =
      fmt::format("rows         {}\nmodel        {}{}\n\n", v.source, v.network_model,
                  v.frozen ? ", constants as shipped; nothing is fitted" : "");
  text += rows_table(v).text(paint) + "\n";
  if (!v.reproduced.empty()) {
    text += "with constants that are inferred from these rows themselves, in no statistics:\n" +
            reproduced_table(v).text(paint) + "\n";
  }
  if (!v.skipped.empty()) text += skipped_table(v).text(paint) + "\n";
  return text + summary_table(v).text(paint);
}

}  // namespace refit
