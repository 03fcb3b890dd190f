#include "report/accuracy_page.h"

#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/accuracy_sections.h"
#include "report/validation_words.h"

namespace refit {
namespace {

using Seconds = std::function<std::optional<double>(const ValidationRow&)>;

std::size_t distinct(const Validation& v, std::string ValidationRow::*key) {
  std::set<std::string> values;
  for (const ValidationRow& row : v.rows) values.insert(row.*key);
  return values.size();
}

// The block that the README repeats; tools/accuracy_page.sh looks for its marks.
std::string headline(const Validation& v, const ErrorSummary& all) {
  return fmt::format(
      "<!-- headline -->\n"
      "With a setting left out of the fit, predictions of its published refit times are off by {} "
      "in "
      "the median "
      "({} times in {} settings, {} systems), {} of them by no more than 25 %, the worst by {}; "
      "with a whole system left out, by {}.\n"
      "<!-- end of headline -->\n",
      percent(all.held_out_median), all.rows, distinct(v, &ValidationRow::scenario),
      distinct(v, &ValidationRow::system), percent(all.within_25_percent),
      percent(all.worst_held_out),
      all.system_out_median ? percent(*all.system_out_median) : "an unknown error");
}

std::string targets(const Validation& v, const ErrorSummary& all) {
  const ErrorSummary grade_a = summary_of(rows_where(v, [](auto& r) { return r.grade == "A"; }));
  Table table({{"", Align::left}, {"is"}, {"target"}, {"met"}});
  const auto add = [&](const char* what, const std::string& is, const char* target, bool met) {
    table.add_row({what, is, target, met ? "yes" : "**no**"});
  };
  add("left out by setting: median error", percent(all.held_out_median), "12 % or less",
      all.held_out_median <= 0.12);
  add("left out by setting: grade-A times within 25 %", percent(grade_a.within_25_percent),
      "80 % or more", grade_a.within_25_percent >= 0.8);
  const double system_out = all.system_out_median.value_or(0);
  add("left out by system: median error", percent(system_out), "15 % or less", system_out <= 0.15);
  add("left out by setting: times inside the 80 % band", percent(all.inside_band), "70 % to 90 %",
      all.inside_band >= 0.7 && all.inside_band <= 0.9);
  add("predictions below their bound", fmt::format("{}", all.under_bound), "0",
      all.under_bound == 0);
  add("median error of a GB/s per system, from its other settings",
      percent(all.rule_median.value_or(0)), "more than ours",
      all.rule_median.value_or(0) > all.held_out_median);
  return table.markdown() +
         fmt::format(
             "\nThe last line is what one would do without a model: bytes over the rate that the "
             "same system reached elsewhere. Of {} times to which that rule can be applied, ours "
             "are nearer for {}.\n\n",
             all.rows_with_rule, percent(all.nearer_than_rule));
}

std::string rests_on(const Accuracy& a) {
  return fmt::format(
      "## What it rests on\n\n"
      "- {} published times become scenarios ([how](validation_rows.md)); {} are skipped, below. "
      "{} constants are fitted to them by least squares. They belong to steps, not to systems or "
      "machines; what one system alone does is priced by its own rows alone.\n"
      "- Several rows tell of one setting: those {} rows are {} settings. In the fit each setting "
      "weighs one, and *left out* leaves out a setting with all its rows. Percentages here count "
      "rows, unless a column says otherwise.\n"
      "- Constants without a setting, system or kind of machine are one step of least squares from "
      "the fit of all rows, not a fit of their own, which would move some errors by several "
      "points.\n"
      "- What is left out is left out of the constants only. The steps of each system and the "
      "forms "
      "of their costs were chosen with all rows in view, so **expect layouts, models and machines "
      "that "
      "are not among these rows to be clearly worse** than the left-out figures, most of all for "
      "systems with one or two settings.\n"
      "- A band is the constants' covariance and a model error, so wide that four in five left-out "
      "settings lie inside. It knows nothing of forms that are wrong.\n"
      "- No row calibrates {}: these presets use constants that others fitted.\n\n",
      a.validation.rows.size(), a.validation.skipped.size(),
      std::count_if(a.constants.begin(), a.constants.end(),
                    [](const ConstantLine& c) { return c.sigma.has_value(); }),
      a.validation.rows.size(), distinct(a.validation, &ValidationRow::scenario),
      a.uncalibrated.empty() ? "no other preset"
                             : fmt::format("`{}`", fmt::join(a.uncalibrated, "`, `")));
}

// Settings count one each here: the median over a setting's rows, then over settings.
double median_of_settings(const Validation& v, const Seconds& seconds) {
  std::map<std::string, std::vector<double>> errors;
  for (const ValidationRow& row : v.rows) {
    if (const auto s = seconds(row))
      errors[row.scenario].push_back(std::abs(*s / row.published_s - 1));
  }
  std::vector<double> medians;
  for (const auto& [scenario, list] : errors) medians.push_back(median(list));
  return median(medians);
}

std::string folds(const Validation& v) {
  Table table({{"left out", Align::left},
               {"rows"},
               {"median"},
               {"80 % of rows within"},
               {"worst"},
               {"median of settings"}});
  const auto add = [&](const char* name, const Seconds& seconds) {
    std::vector<double> errors;
    for (const ValidationRow& row : v.rows) {
      if (const auto s = seconds(row)) errors.push_back(std::abs(*s / row.published_s - 1));
    }
    const ErrorSpread spread = spread_of(errors);
    table.add_row({name, fmt::format("{}", spread.rows), percent(spread.median),
                   percent(spread.four_in_five), percent(spread.worst),
                   percent(median_of_settings(v, seconds))});
  };
  add("nothing", [](const ValidationRow& row) { return std::optional(row.predicted_s); });
  add("the row's setting", [](const ValidationRow& row) { return std::optional(row.left_out_s); });
  add("its system", [](const ValidationRow& row) { return row.system_out_s; });
  add("its kind of machine", [](const ValidationRow& row) { return row.hardware_out_s; });
  return "## By what is left out\n\n" + table.markdown() + "\n";
}

std::string constants(const Accuracy& a) {
  Table table({{"constant", Align::left},
               {"value"},
               {"one sigma"},
               {"with one setting left out"},
               {"plausible"},
               {"", Align::left},
               {"of", Align::left}});
  for (const ConstantLine& c : a.constants) {
    table.add_row({fmt::format("`{}`", c.key), c.value,
                   c.sigma ? fmt::format("x/ {:.2f}", *c.sigma) : "not fitted",
                   c.sigma ? c.low + " to " + c.high : "-",
                   c.plausible_low + " to " + c.plausible_high, c.outside ? "**outside**" : "",
                   c.meaning});
  }
  return fmt::format(
             "## Constants\n\nOne sigma is a factor. A constant outside of what is plausible is no "
             "discovery: a term is missing, and the constant stands in for it. Condition number of "
             "the fit, priors included: {:.0f}. A constant whose sigma is a factor above 2 is "
             "hardly "
             "told apart from the others by these rows.\n\n",
             a.condition) +
         table.markdown() + "\n";
}

std::string misses(const Accuracy& a) {
  std::string text =
      "## Misses\n\nEvery time that is off by more than 25 % with its setting left out.\n\n";
  for (const ValidationRow& row : a.validation.rows) {
    if (!row.is_miss()) continue;
    text += fmt::format("**{}** ({}, {}, {}: {} left out, {} fitted). {}\n\n", row.id, row.system,
                        row.model, row.hardware, signed_percent(row.held_out_error()),
                        signed_percent(row.error()), a.misses.at(row.id));
  }
  return text;
}

std::string reproduced(const Validation& v) {
  if (v.reproduced.empty()) return "";
  return "## Between clusters\n\nChanges, and whole checkpoints, sent from one region to another. "
         "Two rates at which a receiving node takes bytes in, for each of two testbeds, and one "
         "fixed time are [inferred from these rows themselves](systems.md#between-clusters): this "
         "says how well the plans with so few constants tell the times, not how well others would "
         "be foretold. They are in no figure above or below.\n\n" +
         reproduced_table(v).markdown() +
         "\nNot understood: from 3 % to 5 % changed NeMo-DCR's published times grow 1.84 times by "
         "relays and 2.03 times by the store, for 1.67 times the bytes. Its 120B and 1T models "
         "agree "
         "on 5 s and 0.31 GB/s per receiver at 3 % and on 5 s and 0.26 GB/s at 5 %, as if "
         "receivers "
         "were slower the more they get; whole checkpoints come at 0.39 GB/s, with 115 s left "
         "over. "
         "One rate for changes therefore makes 3 % too slow and 5 % too fast. Nothing published "
         "says "
         "what the receivers wait for: bytes, coding (counted per change) and applying do not grow "
         "faster than the changes.\n\n";
}

}  // namespace

std::string accuracy_page(const Accuracy& a) {
  const Validation& v = a.validation;
  const ErrorSummary all = summary_of(v.rows);
  return "# Accuracy\n\n"
         "How far predictions are from published refit times, and what they rest on. Written by "
         "`make accuracy`; do not edit. Published times are other people's measurements, "
         "predictions "
         "are simulated, bounds are [proven](lower_bound.md); nothing was measured here.\n\n" +
         headline(v, all) + "\n" + targets(v, all) + rests_on(a) + "## Rows\n\n" +
         "`left out`: the error with constants that were fitted without the row's setting. "
         "Systems are [presets](systems.md), what time goes into are constants of the "
         "[network model](network_model.md).\n\n" +
         rows_table(v).markdown() + "\n" + reproduced(v) + "## Skipped rows\n\n" +
         skipped_table(v).markdown() + "\n" + folds(v) + "## By grade, system and machine\n\n" +
         summary_table(v).markdown() + "\n" + misses(a) + method_order_section(v) +
         scale_section(a.scale) + streams_section(a.streams) + gb200_section(v) + constants(a);
}

}  // namespace refit
