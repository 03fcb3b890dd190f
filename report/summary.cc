#include "report/summary.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/units.h"
#include "report/certificate_words.h"
#include "report/conversion_words.h"
#include "report/ensemble_words.h"
#include "report/memory_table.h"
#include "report/reduction_words.h"
#include "report/time_words.h"

namespace refit {
namespace {

// "label      first line", further lines under the first.
std::string entry(const std::string& label, const std::string& lines) {
  std::string text = fmt::format("{:<13}", label);
  for (const char c : lines) {
    text += c;
    if (c == '\n') text += std::string(13, ' ');
  }
  return text + "\n";
}

std::string heading(const SimulationReport& report) {
  std::string text = entry("scenario", report.scenario);
  text += entry("model", report.model);
  text += entry("cluster", report.cluster);
  if (!report.strategies.empty()) {
    text += entry(
        "unique",
        fmt::format("{} (one copy of the weights)",
                    format_bytes(static_cast<double>(report.strategies.front().unique_bytes))));
  }
  for (const std::string& assumption : report.assumptions) text += entry("assumes", assumption);
  for (const ConversionTotal& total : report.conversions)
    text += entry("converts", conversion_words(total));
  return text;
}

const StrategyResult* find(const SimulationReport& report, const char* strategy) {
  const auto found =
      std::find_if(report.strategies.begin(), report.strategies.end(),
                   [&](const StrategyResult& row) { return row.strategy == strategy; });
  return found == report.strategies.end() ? nullptr : &*found;
}

std::string counted(std::size_t count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string outcome(const FaultPrediction& fault) {
  if (!fault.unserved.empty()) {
    return fmt::format("stopped: no other rank has all bytes of {}{}", fault.unserved.front(),
                       fault.unserved.size() == 1
                           ? ""
                           : fmt::format(" and {}", counted(fault.unserved.size() - 1, "other")));
  }
  if (!fault.completed) return "stopped";
  if (fault.dropped.empty()) return "complete";
  std::string ranks;
  for (const Rank rank : fault.dropped) ranks += fmt::format(" {}", rank.value);
  return fmt::format("complete without rank{}{}", fault.dropped.size() == 1 ? "" : "s", ranks);
}

// What the fullest GPU holds at its worst moment, by strategy.
std::string memory_lines(const SimulationReport& report, Paint paint) {
  std::string text = "\n";
  for (const StrategyResult& row : report.strategies) {
    const std::string room = row.gpu_memory_bytes > 0
                                 ? fmt::format(" of {}", format_bytes(row.gpu_memory_bytes))
                                 : std::string();
    text += fmt::format("memory      {}: rank {} holds {}{} at its peak, {} of it {}{}\n",
                        row.strategy, row.memory_rank.value, format_bytes(row.memory_bytes), room,
                        format_bytes(row.memory_dominant_bytes), row.memory_dominant,
                        row.memory_over
                            ? painted(fmt::format("; rank {} is the first that has too little",
                                                  row.memory_over->value),
                                      Mark::alarm, paint)
                            : "");
  }
  return text;
}

std::string certificate_lines(const SimulationReport& report) {
  std::string text = "\n";
  for (const StrategyResult& row : report.strategies)
    text += fmt::format("certificate {}: {}\n", row.strategy, certificate_words(row.certificate));
  return text;
}

// What was taken and why, two lines.
std::string chosen_note(const SimulationReport& report) {
  if (!report.chosen) return {};
  std::string reason = report.chosen->reason;
  const std::size_t end = reason.find('\n');
  if (end != std::string::npos) reason.insert(end + 1, 12, ' ');
  return fmt::format("\nauto        takes {}: {}\n", report.chosen->strategy, reason);
}

// What is taken of what is limited, and the price of keeping to it.
std::string limit_lines(const SimulationReport& report, Paint paint) {
  std::string text;
  for (const StrategyResult& row : report.strategies) {
    if (!row.limits) continue;
    const LimitUse& use = *row.limits;
    text += fmt::format(
        "limits      {}: {} ops, {} peers, {} communicators, {} extra memory on the "
        "ranks that have most\n",
        row.strategy, format_count(use.ops), use.peers, use.communicators,
        format_bytes(use.extra_memory_bytes));
    for (const std::string& line : use.exceeded)
      text += fmt::format("            {}\n",
                          painted("exceeds the limit: " + line, Mark::alarm, paint));
    if (use.price_s) {
      const double free_s = row.predicted_s - *use.price_s;
      text += fmt::format("            price of the limits: {} ({})\n",
                          more_seconds_cell(*use.price_s).text,
                          more_percent_cell(free_s > 0 ? *use.price_s / free_s : 0).text);
    }
  }
  return text;
}

std::string fault_table(const SimulationReport& report, Paint paint) {
  if (report.fault.empty()) return {};
  Table table({{"strategy", Align::left},
               {"undisturbed"},
               {"fault at"},
               {"known at"},
               {"recovered"},
               {"prediction"},
               {"outcome", Align::left}});
  for (const StrategyResult& row : report.strategies) {
    if (!row.fault) continue;
    const FaultPrediction& fault = *row.fault;
    table.add_row({row.strategy, format_seconds(fault.undisturbed_s), format_seconds(fault.fault_s),
                   format_seconds(fault.detected_s),
                   format_bytes(static_cast<double>(fault.recovered_bytes)),
                   format_seconds(fault.makespan_s), outcome(fault)});
  }
  return fmt::format("\nwith a fault: {}\n{}", report.fault, table.text(paint));
}

// Why two strategies that deliver the same bytes load the network differently.
std::string copies_note(const SimulationReport& report) {
  const StrategyResult* direct = find(report, "direct");
  const StrategyResult* reshard = find(report, "reshard");
  if (direct == nullptr || reshard == nullptr) return {};
  if (std::abs(direct->copies - reshard->copies) < 0.005) return {};
  return fmt::format(
      "direct sends {:.2f} copies of the weights over the network, every rank's shard by itself;\n"
      "reshard sends {:.2f}: ranks of one NVLink domain that need the same get it once and share "
      "it.\n",
      direct->copies, reshard->copies);
}

// What sets the bound, if it is the same for all: the bound asks the question, not the plan.
std::string bound_note(const SimulationReport& report) {
  const std::string& by = report.strategies.front().certificate.bound_by;
  const bool same =
      std::all_of(report.strategies.begin(), report.strategies.end(),
                  [&](const StrategyResult& row) { return row.certificate.bound_by == by; });
  return same && !by.empty() ? fmt::format("\n            set by {}", by) : "";
}

// Bounds of plans that send changes hold for nothing else.
std::string coded_note(const SimulationReport& report) {
  std::string names, words;
  for (const StrategyResult& row : report.strategies) {
    if (row.coded.empty()) continue;
    names += (names.empty() ? "" : ", ") + row.strategy;
    words = row.coded;
  }
  if (names.empty()) return {};
  return fmt::format("\n            that of {} is of plans that send changes only: {}", names,
                     words);
}

// What relays are worth, where the bound knows it and it is more than rounding.
std::string relay_note(const SimulationReport& report) {
  for (const StrategyResult& row : report.strategies) {
    const std::optional<double>& alone_s = row.certificate.no_relay_bound_s;
    if (!row.coded.empty() || !alone_s || *alone_s < 1.001 * row.certificate.bound_s) continue;
    return fmt::format("\n            {} without relays: if only owners send",
                       format_seconds(*alone_s));
  }
  return {};
}

}  // namespace

Table strategy_table(const SimulationReport& report) {
  Table table({{"strategy", Align::left},
               {"payload", Align::right, "payload_bytes"},
               {"logical", Align::right, "logical_bytes"},
               {"network", Align::right, "network_bytes"},
               {"copies"},
               {"NVLink", Align::right, "nvlink_bytes"},
               {"bound", Align::right, "bound_s"},
               {"prediction", Align::right, "prediction_s"},
               {"low_s", Align::unseen},
               {"high_s", Align::unseen},
               {"/ bound", Align::right, "prediction_by_bound"},
               {"busiest link", Align::left, "busiest_link"},
               {"used", Align::right, "busiest_used"},
               {"memory_peak_bytes", Align::unseen}});
  for (const StrategyResult& row : report.strategies) {
    const double bound_s = row.certificate.bound_s;
    table.add_row(
        {row.strategy, bytes_cell(static_cast<double>(row.payload_bytes)),
         bytes_cell(static_cast<double>(row.logical_bytes)), bytes_cell(row.network_bytes),
         Cell(fmt::format("{:.2f} x", row.copies), row.copies), bytes_cell(row.nvlink_bytes),
         seconds_cell(bound_s), seconds_cell(row.predicted_s), number_cell(row.low_s),
         number_cell(row.high_s),
         bound_s > 0
             ? Cell(fmt::format("{:.2f} x", row.predicted_s / bound_s), row.predicted_s / bound_s)
             : Cell("-"),
         row.busiest.name, percent_cell(row.busiest.utilisation), number_cell(row.memory_bytes)});
  }
  return table;
}

std::string simulation_summary(const SimulationReport& report, Paint paint) {
  std::string text = heading(report);
  if (report.strategies.empty()) return text;
  text += "\n" + strategy_table(report).text(paint);
  text += chosen_note(report);
  const std::string note = copies_note(report);
  if (!note.empty()) text += "\n" + note;
  text += certificate_lines(report) + time_lines(report) + memory_lines(report, paint) +
          memory_table(report) + limit_lines(report, paint);
  text += ensemble_lines(report) + fault_table(report, paint);
  if (report.explain) text += reduction_lines(report);
  const StrategyResult& first = report.strategies.front();
  text += fmt::format(
      "\nbound       proven: the least time any correct plan needs on these links{}{}{}\n"
      "prediction  simulated at flow level, network model {}, solver {}\n"
      "            Nothing here was measured.\n",
      bound_note(report), relay_note(report), coded_note(report), first.network_model,
      solver_words(report));
  return text;
}

}  // namespace refit
