#include "report/ensemble_words.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/units.h"

namespace refit {

std::vector<std::vector<std::size_t>> ties(const std::vector<StrategyResult>& rows) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i].ensemble) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return rows[a].ensemble->mean_s < rows[b].ensemble->mean_s;
  });
  std::vector<std::vector<std::size_t>> groups;
  for (const std::size_t i : order) {
    if (!groups.empty()) {
      const Ensemble& fastest = *rows[groups.back().front()].ensemble;
      const Ensemble& own = *rows[i].ensemble;
      if (own.mean_s - fastest.mean_s <= std::max(own.spread_s(), fastest.spread_s())) {
        groups.back().push_back(i);
        continue;
      }
    }
    groups.push_back({i});
  }
  std::erase_if(groups, [](const auto& group) { return group.size() == 1; });
  return groups;
}

std::string ensemble_lines(const SimulationReport& report) {
  std::string text;
  for (const StrategyResult& row : report.strategies) {
    if (!row.ensemble) continue;
    const Ensemble& ensemble = *row.ensemble;
    text += fmt::format("ensemble    {}: mean {} of {} runs, spread {} ({:.2g} %)\n", row.strategy,
                        format_seconds(ensemble.mean_s), ensemble.members,
                        format_seconds(ensemble.spread_s()),
                        100 * ensemble.spread_s() / ensemble.mean_s);
  }
  if (text.empty()) return text;
  text += fmt::format("            sizes differ by up to {:g} %, first ops start up to {} late\n",
                      100 * kUnequalRuns.sizes, format_seconds(kUnequalRuns.starts_s));
  for (const auto& group : ties(report.strategies)) {
    std::string names;
    for (const std::size_t i : group) {
      if (!names.empty()) names += i == group.back() ? " and " : ", ";
      names += report.strategies[i].strategy;
    }
    text += fmt::format("            {} are a tie: they differ by less than the spread\n", names);
  }
  return "\n" + text;
}

}  // namespace refit
