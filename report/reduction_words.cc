#include "report/reduction_words.h"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "base/units.h"

namespace refit {
namespace {

std::string count(std::size_t value) { return format_count(static_cast<std::int64_t>(value)); }

std::string words(const ReductionReport& report) {
  std::string text = fmt::format("{} tasks on {} links", count(report.tasks), count(report.links));
  if (report.slack_links > 0)
    text += fmt::format("; {} links can never be full", count(report.slack_links));
  const std::size_t links = report.links - report.slack_links;
  if (report.simulated_tasks < report.tasks || report.simulated_links < links) {
    text += fmt::format("; by symmetry {} tasks and {} links stand for all",
                        count(report.simulated_tasks), count(report.simulated_links));
  }
  if (report.merge) text += fmt::format("; {} took over a rate", count(report.merged));
  return text;
}

}  // namespace

std::string reduction_lines(const SimulationReport& report) {
  std::string text;
  for (const StrategyResult& row : report.strategies) {
    text += fmt::format("simulated   {}: {}\n            solver {}: {}\n", row.strategy,
                        words(row.reductions), row.solver, row.solver_reason);
  }
  return text.empty() ? text : "\n" + text;
}

std::string solver_words(const SimulationReport& report) {
  if (report.strategies.empty()) return {};
  const std::string& most = report.strategies.front().solver;
  std::string others, other;
  for (const StrategyResult& row : report.strategies) {
    if (row.solver == most) continue;
    other = row.solver;
    others += (others.empty() ? "" : ", ") + row.strategy;
  }
  return others.empty() ? most : fmt::format("{} ({} for {})", most, other, others);
}

}  // namespace refit
