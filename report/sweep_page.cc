#include "report/sweep_page.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "report/html.h"
#include "report/json_number.h"
#include "report/sweep_words.h"

namespace refit {
namespace {

using Json = nlohmann::ordered_json;
using Rows = std::vector<const SweepRow*>;

// More would be a page of more than 5 MB, with dots upon dots.
constexpr std::size_t kMostRows = 30'000;
constexpr std::size_t kMostReasons = 200;

bool is_predicted(const SweepRow& row) { return row.outcome == PointOutcome::predicted; }

// What is drawn needs no more digits.
Json drawn(double value) {
  return json_number(std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr));
}

template <class Of>
Json numbers(const Rows& rows, Of of) {
  Json list = Json::array();
  for (const SweepRow* row : rows) list.push_back(drawn(of(*row)));
  return list;
}

Json perhaps(const Rows& rows, std::optional<double> SweepRow::*field) {
  Json list = Json::array();
  for (const SweepRow* row : rows) {
    const std::optional<double> value = row->*field;
    list.push_back(value ? drawn(*value) : Json());
  }
  return list;
}

// Each word once, in the order of the points, and which of them a row has.
template <class Of>
Json words(const Rows& rows, Of of) {
  std::map<std::string, std::size_t> known;
  Json list = Json::array(), which = Json::array();
  for (const SweepRow* row : rows) {
    const std::string& word = of(*row);
    const auto [entry, is_new] = known.emplace(word, known.size());
    if (is_new) list.push_back(word);
    which.push_back(entry->second);
  }
  return {{"words", std::move(list)}, {"of", std::move(which)}};
}

Json fields(const SweepTable& table, const Rows& rows) {
  Json list = Json::array();
  const auto add = [&](const std::string& name, auto of) {
    Json field = {{"name", name}};
    field.update(words(rows, of));
    list.push_back(std::move(field));
  };
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    add(table.columns[c], [c](const SweepRow& row) -> const std::string& { return row.values[c]; });
  }
  add("strategy", [](const SweepRow& row) -> const std::string& { return row.strategy; });
  return list;
}

Json reasons(const SweepTable& table) {
  std::map<std::pair<std::string, std::string>, std::int64_t> points;
  for (const SweepRow& row : table.rows) {
    if (is_predicted(row)) continue;
    const bool failed = row.outcome == PointOutcome::failed;
    ++points[{failed ? "failed" : "infeasible", row.reason}];
  }
  std::vector<std::pair<std::int64_t, std::pair<std::string, std::string>>> sorted;
  for (const auto& [why, count] : points) sorted.push_back({count, why});
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  if (sorted.size() > kMostReasons) sorted.resize(kMostReasons);
  Json list = Json::array();
  for (const auto& [count, why] : sorted)
    list.push_back({{"points", count}, {"outcome", why.first}, {"reason", why.second}});
  return list;
}

// What was predicted, in the order of the points; of too many the fastest.
Rows shown_rows(const SweepTable& table) {
  Rows rows;
  for (const SweepRow& row : table.rows)
    if (is_predicted(row)) rows.push_back(&row);
  if (rows.size() > kMostRows) {
    std::stable_sort(rows.begin(), rows.end(), [](const SweepRow* a, const SweepRow* b) {
      return a->prediction_s < b->prediction_s;
    });
    rows.resize(kMostRows);
  }
  std::sort(rows.begin(), rows.end(),
            [](const SweepRow* a, const SweepRow* b) { return a->point < b->point; });
  return rows;
}

std::string page_data(const SweepTable& table, const Rows& rows) {
  const auto number = [&](double SweepRow::*field) {
    return numbers(rows, [field](const SweepRow& row) { return row.*field; });
  };
  const auto word = [&](std::string SweepRow::*field) {
    return words(rows, [field](const SweepRow& row) -> const std::string& { return row.*field; });
  };
  Json point = Json::array();
  for (const SweepRow* row : rows) point.push_back(row->point);
  const Json data = {{"schema", "refit.sweep_page/1"},
                     {"hash", table.hash},
                     {"fields", fields(table, rows)},
                     {"point", std::move(point)},
                     {"bound_s", number(&SweepRow::bound_s)},
                     {"prediction_s", number(&SweepRow::prediction_s)},
                     {"low_s", perhaps(rows, &SweepRow::low_s)},
                     {"high_s", perhaps(rows, &SweepRow::high_s)},
                     {"network_bytes", number(&SweepRow::network_bytes)},
                     {"copies", number(&SweepRow::copies)},
                     {"memory_peak_bytes", number(&SweepRow::memory_peak_bytes)},
                     {"busiest_link", word(&SweepRow::busiest_link)},
                     {"busiest_used", number(&SweepRow::busiest_used)},
                     {"waits_for", word(&SweepRow::waits_for)},
                     {"over", word(&SweepRow::over)},
                     {"reasons", reasons(table)}};
  return data.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string sweep_answer(const SweepTable& table) {
  const SweepRow* best = nullptr;
  for (const SweepRow& row : table.rows) {
    if (!is_predicted(row) || !row.over.empty()) continue;
    if (best == nullptr || row.prediction_s < best->prediction_s) best = &row;
  }
  if (best == nullptr) return "No point has a plan that fits.";
  std::vector<std::string> where;
  for (std::size_t c = 0; c < table.columns.size(); ++c)
    where.push_back(fmt::format("{} {}", table.columns[c], best->values[c]));
  const std::string band = band_words(*best);
  return fmt::format("The fastest that fits is point {}, {} by {}{}, bound {}{}{}", best->point,
                     format_seconds(best->prediction_s), best->strategy,
                     band.empty() ? "" : fmt::format(" ({}, 80 % band)", band),
                     format_seconds(best->bound_s), where.empty() ? "" : ": ",
                     fmt::join(where, ", "));
}

std::string sweep_page(const std::string& name, const SweepTable& table,
                       const std::string& version) {
  const Rows rows = shown_rows(table);
  std::string question = sweep_counts(table, " points") + ".";
  if (std::count_if(table.rows.begin(), table.rows.end(), is_predicted) >
      static_cast<std::ptrdiff_t>(rows.size()))
    question += fmt::format(" The page has the {} fastest.", format_count(kMostRows));
  return framed({name,
                 question,
                 sweep_answer(table),
                 version,
                 "sweep_sections",
                 page_data(table, rows),
                 {"words", "chart", "contents", "sweep_fields", "sweep_plot", "sweep_points",
                  "sweep_start", "ready"}});
}

}  // namespace refit
