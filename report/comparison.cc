#include "report/comparison.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/units.h"
#include "report/op_times.h"

namespace refit {
namespace {

constexpr std::size_t kMostNamed = 3;

double length_s(const Span& span) { return span.end_s - span.start_s; }

double disagreement_s(const Comparison::OpPair& pair) {
  return std::abs(length_s(pair.measured) - length_s(pair.predicted));
}

std::string ratio(double measured_s, double predicted_s) {
  return predicted_s > 0 ? fmt::format("{:.3f}", measured_s / predicted_s) : "-";
}

std::string span_text(const Span& span) {
  return fmt::format("{} to {}", format_seconds(span.start_s), format_seconds(span.end_s));
}

std::string rows_table(const Comparison& comparison) {
  Table table({{"phase", Align::left},
               {"link", Align::left},
               {"ops"},
               {"content"},
               {"predicted busy"},
               {"measured busy"},
               {"meas/pred"}});
  for (const Comparison::Row& row : comparison.rows) {
    table.add_row({row.phase, std::string(to_string(row.kind)), format_count(row.ops),
                   format_bytes(static_cast<double>(row.bytes)), format_seconds(row.predicted_s),
                   format_seconds(row.measured_s), ratio(row.measured_s, row.predicted_s)});
  }
  return table.text();
}

std::string largest_table(const Comparison& comparison) {
  Table table({{"op"},
               {"ranks", Align::left},
               {"content"},
               {"predicted", Align::left},
               {"measured", Align::left},
               {"meas/pred"}});
  for (const Comparison::OpPair& pair : comparison.largest) {
    table.add_row({std::to_string(pair.op.value), pair.words,
                   format_bytes(static_cast<double>(pair.bytes)), span_text(pair.predicted),
                   span_text(pair.measured),
                   ratio(length_s(pair.measured), length_s(pair.predicted))});
  }
  return table.text();
}

}  // namespace

void require_same_plan(const Schedule& schedule, const std::string& scenario,
                       const std::string& plan_name, const RunReport& run,
                       const std::string& run_name) {
  const auto refuse = [&](const std::string& what, const auto& planned, const auto& measured) {
    throw Error(ErrorCode::bad_input,
                fmt::format("{} is not a run of {}: {} {}, where the plan has {}; compare a plan "
                            "with its own run",
                            run_name, plan_name, what, measured, planned));
  };
  if (run.scenario != scenario) refuse("scenario", scenario, run.scenario);
  if (run.strategy != schedule.strategy) refuse("strategy", schedule.strategy, run.strategy);
  if (run.measurement.ranks != schedule.ranks)
    refuse("ranks", schedule.ranks, run.measurement.ranks);
  if (run.measurement.timeline.size() != schedule.ops.size())
    refuse("ops", schedule.ops.size(), run.measurement.timeline.size());
}

Comparison compare(const Schedule& schedule, const Cluster& cluster, const Prediction& prediction,
                   const RunReport& run) {
  Comparison result;
  result.scenario = run.scenario;
  result.strategy = run.strategy;
  result.transport = run.measurement.transport;
  result.predicted_s = prediction.makespan_s;
  result.measured_s = run.measurement.iterations.back().seconds;
  result.measured_median_s = run.measurement.median_s();
  result.not_graded = run.not_graded;

  const Timeline predicted = flow_times(schedule, prediction.timeline);
  const Timeline measured = flow_times(schedule, run.measurement.timeline);
  struct Spans {
    std::vector<Span> predicted, measured;
    std::int64_t bytes = 0;
  };
  std::map<std::pair<std::size_t, RouteKind>, Spans> spans;
  std::vector<Comparison::OpPair> pairs;
  for (std::size_t id = 0; id < schedule.ops.size(); ++id) {
    const Op& op = schedule.ops[id];
    if (!moves_bytes(op)) continue;
    Spans& sum = spans[{op.phase, route_of(op, schedule, cluster)}];
    sum.predicted.push_back(predicted[id]);
    sum.measured.push_back(measured[id]);
    sum.bytes += op.bytes;
    pairs.push_back(
        {OpId(static_cast<std::int64_t>(id)), {}, op.bytes, predicted[id], measured[id]});
  }
  for (auto& [key, sum] : spans) {
    result.rows.push_back({schedule.phases[key.first].name, key.second,
                           static_cast<std::int64_t>(sum.predicted.size()), sum.bytes,
                           covered_s(std::move(sum.predicted)),
                           covered_s(std::move(sum.measured))});
  }
  const std::size_t named = std::min(kMostNamed, pairs.size());
  std::partial_sort(pairs.begin(), pairs.begin() + static_cast<std::ptrdiff_t>(named), pairs.end(),
                    [](const Comparison::OpPair& a, const Comparison::OpPair& b) {
                      const double by_a = disagreement_s(a);
                      const double by_b = disagreement_s(b);
                      return by_a != by_b ? by_a > by_b : a.op < b.op;
                    });
  pairs.resize(named);
  for (Comparison::OpPair& pair : pairs) {
    pair.words = op_words(schedule.ops[pair.op.index()], schedule);
  }
  result.largest = std::move(pairs);
  return result;
}

std::string comparison_text(const Comparison& comparison) {
  std::string text = fmt::format(
      "{}: {} over {}\n"
      "prediction   {} (wire-only: links at line rate, no software cost)\n"
      "measurement  {} in the last iteration, median {}; measurement / prediction {}\n",
      comparison.scenario, comparison.strategy, comparison.transport,
      format_seconds(comparison.predicted_s), format_seconds(comparison.measured_s),
      format_seconds(comparison.measured_median_s),
      ratio(comparison.measured_s, comparison.predicted_s));
  if (!comparison.not_graded.empty()) {
    text += fmt::format("not graded   {}\n", comparison.not_graded);
  }
  text += "\n" + rows_table(comparison);
  text += fmt::format("\nlargest disagreement{} in how long an op took:\n",
                      comparison.largest.size() == 1 ? "" : "s");
  return text + largest_table(comparison);
}

Table comparison_table(const Comparison& comparison) {
  Table table({{"phase"},
               {"link"},
               {"ops"},
               {"content_bytes"},
               {"predicted_s"},
               {"measured_s"},
               {"ratio"}});
  for (const Comparison::Row& row : comparison.rows) {
    table.add_row({row.phase, std::string(to_string(row.kind)),
                   number_cell(static_cast<double>(row.ops)),
                   number_cell(static_cast<double>(row.bytes)), number_cell(row.predicted_s),
                   number_cell(row.measured_s),
                   number_cell(row.predicted_s > 0 ? std::optional(row.measured_s / row.predicted_s)
                                                   : std::nullopt)});
  }
  return table;
}

}  // namespace refit
