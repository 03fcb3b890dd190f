#include "report/time_words.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/units.h"

namespace refit {
namespace {

constexpr double kWorthSaying = 0.03;  // of the prediction

std::string shares(const StrategyResult& row) {
  std::vector<std::pair<double, std::string>> parts;
  for (const auto& [name, seconds] : row.seconds_by_constant) parts.emplace_back(seconds, name);
  std::stable_sort(parts.begin(), parts.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> words;
  for (const auto& [seconds, name] : parts) {
    if (seconds < kWorthSaying * row.predicted_s) break;
    words.push_back(fmt::format("{} {}", name, format_seconds(seconds)));
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace

std::string time_lines(const SimulationReport& report) {
  std::string text;
  for (const StrategyResult& row : report.strategies) {
    if (row.seconds_by_constant.empty()) continue;
    const std::string band = row.low_s && row.high_s
                                 ? fmt::format("{} to {} (80 % band); ", format_seconds(*row.low_s),
                                               format_seconds(*row.high_s))
                                 : "";
    text += fmt::format("time        {}: {}{}\n", row.strategy, band, shares(row));
  }
  for (const StrategyResult& row : report.strategies) {
    if (row.first_use.seconds <= 0) continue;
    text += fmt::format("first refit {}: {} more, once: {} communicator{} and {} registered\n",
                        row.strategy, format_seconds(row.first_use.seconds),
                        row.first_use.communicators, row.first_use.communicators == 1 ? "" : "s",
                        format_bytes(row.first_use.registered_bytes));
  }
  return text.empty() ? text : "\n" + text;
}

}  // namespace refit
