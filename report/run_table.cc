#include "report/run_table.h"

#include <optional>
#include <sstream>

#include <fmt/format.h>

#include "base/units.h"
#include "report/table.h"

namespace refit {
namespace {

constexpr const char* kNone = "-";

std::string microseconds(double seconds) { return fmt::format("{:.1f}", seconds * 1e6); }

// GB = 1e9 B. Scaled-down links carry hundredths of it.
std::string bandwidth(std::int64_t bytes, double seconds) {
  if (!(seconds > 0)) return kNone;
  const double gb_per_s = static_cast<double>(bytes) / seconds / 1e9;
  return gb_per_s < 1 ? fmt::format("{:.4f}", gb_per_s) : fmt::format("{:.2f}", gb_per_s);
}

std::string ratio(double measured_s, double predicted_s) {
  return predicted_s > 0 ? fmt::format("{:.3f}", measured_s / predicted_s) : kNone;
}

double length_s(const Span& span) { return span.end_s - span.start_s; }

std::string counted(std::size_t count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

// 1792, 2.5: whole where that is exact enough, and never 1e+04.
std::string times(double factor) {
  return factor >= 100 ? fmt::format("{:.0f}", factor) : fmt::format("{:.4g}", factor);
}

std::string heading(const RunReport& report) {
  const Measurement& measurement = report.measurement;
  std::string text = fmt::format("# {}: {}, {} ranks, transport {}\n", report.scenario,
                                 report.strategy, measurement.ranks, measurement.transport);
  if (report.scale) {
    text += fmt::format(
        "# scale 1/{}: bandwidths exactly, bytes 1/{} (whole rows), latencies as they are\n",
        times(1 / report.scale->factor), times(1 / report.scale->byte_factor));
  }
  text += fmt::format(
      "# {} after {} of warm-up, seed {}; {}\n",
      counted(measurement.iterations.size(), "iteration"), report.warmup, report.seed,
      report.checked ? "every destination byte is compared" : "destination bytes are not compared");
  for (const auto& [name, value] : measurement.environment) {
    text += fmt::format("# {}: {}\n", name, value);
  }
  return text;
}

void add_phase(Table& table, const RunPhase& phase) {
  const double seconds = length_s(phase.measured);
  const std::string rate = bandwidth(phase.largest_rank_bytes, seconds);
  table.add_row({phase.name, std::to_string(phase.largest_rank_bytes), kNone, microseconds(seconds),
                 kNone, rate, rate, kNone, kNone,
                 phase.predicted ? microseconds(length_s(*phase.predicted)) : kNone,
                 phase.predicted ? ratio(seconds, length_s(*phase.predicted)) : kNone});
}

// The rank that was slowest in the slowest iteration.
Rank slowest_rank(const Measurement& measurement) {
  Iteration slowest;
  for (const Iteration& iteration : measurement.iterations) {
    if (iteration.seconds >= slowest.seconds) slowest = iteration;
  }
  return slowest.slowest;
}

void add_total(Table& table, const RunReport& report) {
  const Measurement& measurement = report.measurement;
  const double median_s = measurement.median_s();
  const std::string rate = bandwidth(measurement.largest_rank_bytes, median_s);
  table.add_row({"total", std::to_string(measurement.largest_rank_bytes),
                 microseconds(measurement.minimum_s()), microseconds(median_s),
                 microseconds(measurement.maximum_s()), rate, rate,
                 report.checked ? std::to_string(measurement.wrong_bytes) : "N/A",
                 std::to_string(slowest_rank(measurement).value),
                 report.predicted_s ? microseconds(*report.predicted_s) : kNone,
                 report.predicted_s ? ratio(median_s, *report.predicted_s) : kNone});
}

// The two heading lines of the table are comments too.
std::string marked(const std::string& table) {
  std::istringstream lines(table);
  std::string text;
  int number = 0;
  for (std::string line; std::getline(lines, line); ++number) {
    text += (number < 2 ? "# " : "  ") + line + "\n";
  }
  return text;
}

// What a lost rank cost, beside what was predicted of it.
std::string fault_notes(const RunReport& report) {
  if (!report.measurement.fault) return {};
  const FaultRecord& fault = *report.measurement.fault;
  const auto beside = [&](const std::string& predicted) {
    return report.predicted_fault ? fmt::format(" (pred {})", predicted) : std::string();
  };
  const FaultPrediction none;
  const FaultPrediction& predicted = report.predicted_fault ? *report.predicted_fault : none;
  std::string text = fmt::format("# fault: rank {} was lost: {}; policy {}\n", fault.lost.value,
                                 fault.reason, to_string(fault.policy));
  text += fmt::format("#   known after {} us{}, connections made anew after {} us\n",
                      microseconds(fault.detected_s), beside(microseconds(predicted.detected_s)),
                      microseconds(fault.reconnected_s));
  text += fmt::format("#   {} B were sent by others then{}\n", fault.recovered_bytes,
                      beside(fmt::format("{} B", predicted.recovered_bytes)));
  for (const Rank rank : fault.dropped)
    text += fmt::format("#   destination rank {} is lost and left out\n", rank.value);
  return text;
}

std::string notes(const RunReport& report) {
  const Measurement& measurement = report.measurement;
  std::string text =
      "# size: most bytes that one rank sends or receives; algbw = size / median, busbw = algbw\n"
      "# phase rows: measured in the last iteration, from first to last byte; phases may overlap\n";
  text += report.predicted_s
              ? "# pred: prediction, wire-only (links at line rate, no software cost), of the same "
                "schedule\n"
                "#       on the same cluster; simulated, not measured\n"
              : "# pred: none; there is no network to predict\n";
  text += fault_notes(report);
  double wall_s = 0;
  for (const Iteration& iteration : measurement.iterations) wall_s += iteration.seconds;
  if (wall_s > 0 && measurement.cpu_s > 0) {
    text += fmt::format("# {:.2f} processor seconds per second, all ranks together\n",
                        measurement.cpu_s / wall_s);
  }
  text += report.not_graded.empty() ? "# graded: meas/pred holds the prediction against the clock\n"
                                    : fmt::format("# not graded: {}\n", report.not_graded);
  if (report.checked) {
    text += fmt::format("# wrong bytes, warm-up included: {}\n", measurement.wrong_bytes);
  }
  for (const WrongByte& wrong : measurement.wrong_examples) {
    text +=
        fmt::format("#   rank {}, {}, element {}\n", wrong.rank.value, wrong.tensor, wrong.element);
  }
  return text;
}

}  // namespace

std::string run_table(const RunReport& report) {
  Table table({{"phase", Align::left},
               {"size (B)"},
               {"min (us)"},
               {"median (us)"},
               {"max (us)"},
               {"algbw (GB/s)"},
               {"busbw (GB/s)"},
               {"#wrong"},
               {"slowest rank"},
               {"pred (us)"},
               {"meas/pred"}});
  for (const RunPhase& phase : report.phases) add_phase(table, phase);
  add_total(table, report);
  return heading(report) + "#\n" + marked(table.text()) + "#\n" + notes(report);
}

std::string run_csv(const RunReport& report) {
  Table table({{"phase"},
               {"size_bytes"},
               {"min_s"},
               {"median_s"},
               {"max_s"},
               {"algbw_bytes_per_s"},
               {"wrong_bytes"},
               {"slowest_rank"},
               {"predicted_s"},
               {"ratio"}});
  const auto over = [](double value, std::optional<double> by) {
    return number_cell(by && *by > 0 ? std::optional(value / *by) : std::nullopt);
  };
  for (const RunPhase& phase : report.phases) {
    const double seconds = length_s(phase.measured);
    const auto size = static_cast<double>(phase.largest_rank_bytes);
    const std::optional<double> predicted_s =
        phase.predicted ? std::optional(length_s(*phase.predicted)) : std::nullopt;
    table.add_row({phase.name, number_cell(size), number_cell({}), number_cell(seconds),
                   number_cell({}), over(size, seconds), number_cell({}), number_cell({}),
                   number_cell(predicted_s), over(seconds, predicted_s)});
  }
  const Measurement& all = report.measurement;
  const auto size = static_cast<double>(all.largest_rank_bytes);
  const auto wrong = static_cast<double>(all.wrong_bytes);
  table.add_row({"total", number_cell(size), number_cell(all.minimum_s()),
                 number_cell(all.median_s()), number_cell(all.maximum_s()),
                 over(size, all.median_s()),
                 number_cell(report.checked ? std::optional(wrong) : std::nullopt),
                 number_cell(slowest_rank(all).value), number_cell(report.predicted_s),
                 over(all.median_s(), report.predicted_s)});
  return table.csv();
}

}  // namespace refit
