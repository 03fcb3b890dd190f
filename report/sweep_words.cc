#include "report/sweep_words.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/units.h"
#include "report/table.h"

namespace refit {
namespace {

constexpr std::size_t kFastest = 20;
constexpr std::size_t kReasons = 20;

std::int64_t count_of(const SweepTable& table, PointOutcome outcome) {
  return std::count_if(table.rows.begin(), table.rows.end(),
                       [&](const SweepRow& row) { return row.outcome == outcome; });
}

bool fits(const SweepRow& row) {
  return row.outcome == PointOutcome::predicted && row.over.empty();
}

std::string fastest(const SweepTable& table, Paint paint) {
  std::vector<const SweepRow*> rows;
  for (const SweepRow& row : table.rows)
    if (fits(row)) rows.push_back(&row);
  if (rows.empty()) return {};
  std::stable_sort(rows.begin(), rows.end(), [](const SweepRow* a, const SweepRow* b) {
    return a->prediction_s < b->prediction_s;
  });
  const std::size_t shown = std::min(rows.size(), kFastest);
  std::vector<Table::Column> columns{{"point"}};
  for (const std::string& column : table.columns) columns.push_back({column});
  for (const char* heading : {"strategy", "bound", "prediction", "80 % band", "network", "copies",
                              "busiest link", "used", "most time on", "memory"}) {
    const std::string name = heading;
    const bool is_text = name == "strategy" || name == "busiest link" || name == "most time on";
    columns.push_back({name, is_text ? Align::left : Align::right});
  }
  Table text(columns);
  for (std::size_t i = 0; i < shown; ++i) {
    const SweepRow& row = *rows[i];
    std::vector<Cell> cells{fmt::format("{}", row.point)};
    cells.insert(cells.end(), row.values.begin(), row.values.end());
    for (std::string cell :
         {row.strategy, format_seconds(row.bound_s), format_seconds(row.prediction_s),
          band_words(row), format_bytes(row.network_bytes), fmt::format("{:.2f} x", row.copies),
          row.busiest_link, fmt::format("{:.0f} %", 100 * row.busiest_used), row.waits_for,
          format_bytes(row.memory_peak_bytes)}) {
      cells.push_back(std::move(cell));
    }
    text.add_row(std::move(cells));
  }
  const std::string heading = shown == rows.size()
                                  ? "all that fit, fastest first"
                                  : fmt::format("fastest {} of {} that fit", shown,
                                                format_count(static_cast<int>(rows.size())));
  return fmt::format("\n{}\n{}", heading, text.text(paint));
}

// Most frequent first.
std::string reasons(const SweepTable& table, PointOutcome outcome, const char* heading,
                    Paint paint) {
  std::map<std::string, int> times;
  for (const SweepRow& row : table.rows)
    if (row.outcome == outcome) ++times[row.reason];
  if (times.empty()) return {};
  std::vector<std::pair<std::string, int>> sorted(times.begin(), times.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  Table text({{"points"}, {"reason", Align::left}});
  for (std::size_t i = 0; i < std::min(sorted.size(), kReasons); ++i)
    text.add_row({fmt::format("{}", sorted[i].second), sorted[i].first});
  std::string more;
  if (sorted.size() > kReasons)
    more = fmt::format("and {} other reasons\n", sorted.size() - kReasons);
  return fmt::format("\n{}\n{}{}", heading, text.text(paint), more);
}

}  // namespace

std::string band_words(const SweepRow& row) {
  if (!row.low_s || !row.high_s) return {};
  return fmt::format("{} to {}", format_seconds(*row.low_s), format_seconds(*row.high_s));
}

std::string sweep_counts(const SweepTable& table, const char* unit) {
  const auto rows = static_cast<std::int64_t>(table.rows.size());
  std::string text =
      fmt::format("{}{}{}: {} predicted, {} infeasible", format_count(rows),
                  rows == table.points ? "" : fmt::format(" of {}", format_count(table.points)),
                  unit, format_count(count_of(table, PointOutcome::predicted)),
                  format_count(count_of(table, PointOutcome::infeasible)));
  if (const std::int64_t failed = count_of(table, PointOutcome::failed))
    text += fmt::format(", {} failed", format_count(failed));
  const auto over = std::count_if(table.rows.begin(), table.rows.end(), [](const SweepRow& row) {
    return row.outcome == PointOutcome::predicted && !row.over.empty();
  });
  if (over > 0)
    text += fmt::format("; {} of the predicted need more memory or more of a limit than there is",
                        format_count(over));
  return text;
}

std::string sweep_summary(const std::string& name, const SweepTable& table, Paint paint) {
  return fmt::format("sweep        {}\npoints       {}\n", name, sweep_counts(table)) +
         fastest(table, paint) + reasons(table, PointOutcome::infeasible, "infeasible", paint) +
         reasons(table, PointOutcome::failed, "failed, and tried again by --resume", paint) +
         "\nbound: proven. prediction: simulated, every plan proved correct first. Nothing here "
         "was "
         "measured.\n";
}

}  // namespace refit
