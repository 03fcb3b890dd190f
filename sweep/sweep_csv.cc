#include "sweep/sweep_csv.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/csv_table.h"
#include "base/error.h"
#include "base/shown.h"

namespace refit {
namespace {

constexpr std::array kOutcomes = {std::pair{PointOutcome::predicted, "predicted"},
                                  std::pair{PointOutcome::infeasible, "infeasible"},
                                  std::pair{PointOutcome::failed, "failed"}};

// Behind `point`, the varied columns and `strategy`.
constexpr std::array kColumns = {
    "outcome", "reason",       "bound_s",      "bound_by",          "prediction_s",
    "low_s",   "high_s",       "waits_for",    "waits_s",           "network_bytes",
    "copies",  "busiest_link", "busiest_used", "memory_peak_bytes", "gpu_memory_bytes",
    "over"};

std::string first_heading(const SweepTable& table) {
  return fmt::format("{}{} in {}", kSweepCsvBegin, table.points, table.hash);
}

// Reads the cells of one record, from left to right.
class Cells {
 public:
  Cells(const CsvRecord& record, const SweepTable& table, const std::string& name)
      : record_(record), name_(name) {
    const std::size_t expected = 2 + table.columns.size() + kColumns.size();
    if (record.cells.size() != expected)
      fail(fmt::format("{} cells, but a row has {}", record.cells.size(), expected));
  }

  const std::string& text() { return record_.cells[next_++]; }

  template <class Number>
  Number number(const char* what) {
    const std::string& cell = text();
    Number value{};
    const char* end = cell.data() + cell.size();
    const auto [stop, error] = std::from_chars(cell.data(), end, value);
    if (error != std::errc() || stop != end)
      fail(fmt::format("{}: expected a number, got '{}'", what, shown(cell)));
    // Nothing that a sweep says of a point is endless or less than nothing.
    if (!(value >= 0 && static_cast<double>(value) <= std::numeric_limits<double>::max()))
      fail(fmt::format("{}: expected a finite number from 0, got '{}'", what, shown(cell)));
    return value;
  }

  std::optional<double> perhaps(const char* what) {
    if (record_.cells[next_].empty()) return ++next_, std::nullopt;
    return number<double>(what);
  }

  PointOutcome outcome() {
    const std::string& cell = text();
    for (const auto& [outcome, word] : kOutcomes)
      if (cell == word) return outcome;
    fail(fmt::format("outcome: expected predicted, infeasible or failed, got '{}'", shown(cell)));
  }

  [[noreturn]] void fail(const std::string& message) const {
    throw Error(ErrorCode::bad_input, fmt::format("{}:{}: {}", name_, record_.line, message));
  }

 private:
  const CsvRecord& record_;
  const std::string& name_;
  std::size_t next_ = 0;
};

SweepRow read_row(const CsvRecord& record, const SweepTable& table, const std::string& name) {
  Cells cells(record, table, name);
  SweepRow row;
  row.point = cells.number<std::int64_t>("point");
  if (row.point >= table.points) cells.fail(fmt::format("point {} of {}", row.point, table.points));
  for (std::size_t c = 0; c < table.columns.size(); ++c) row.values.push_back(cells.text());
  row.strategy = cells.text();
  row.outcome = cells.outcome();
  row.reason = cells.text();
  if (row.outcome != PointOutcome::predicted) return row;
  row.bound_s = cells.number<double>("bound_s");
  row.bound_by = cells.text();
  row.prediction_s = cells.number<double>("prediction_s");
  row.low_s = cells.perhaps("low_s");
  row.high_s = cells.perhaps("high_s");
  row.waits_for = cells.text();
  row.waits_s = cells.number<double>("waits_s");
  row.network_bytes = cells.number<double>("network_bytes");
  row.copies = cells.number<double>("copies");
  row.busiest_link = cells.text();
  row.busiest_used = cells.number<double>("busiest_used");
  row.memory_peak_bytes = cells.number<double>("memory_peak_bytes");
  row.gpu_memory_bytes = cells.number<double>("gpu_memory_bytes");
  row.over = cells.text();
  return row;
}

// "point of 2000 in 9f3ab2c4d5e6f708"
bool read_first_heading(std::string_view heading, SweepTable& table) {
  if (!heading.starts_with(kSweepCsvBegin)) return false;
  heading.remove_prefix(kSweepCsvBegin.size());
  const char* end = heading.data() + heading.size();
  const auto [stop, error] = std::from_chars(heading.data(), end, table.points);
  const std::string_view rest(stop, static_cast<std::size_t>(end - stop));
  constexpr std::string_view kIn = " in ";
  if (error != std::errc() || table.points < 1 || !rest.starts_with(kIn)) return false;
  table.hash = rest.substr(kIn.size());
  return true;
}

}  // namespace

std::string csv_header(const SweepTable& table) {
  std::string line = first_heading(table);
  for (const std::string& column : table.columns) line += "," + csv_cell(column);
  line += ",strategy";
  for (const char* column : kColumns) line += fmt::format(",{}", column);
  return line;
}

std::string csv_line(const SweepRow& row) {
  std::string line = fmt::format("{}", row.point);
  const auto add = [&](std::string text) {
    // A row is a line, so that a torn one can be told.
    std::replace(text.begin(), text.end(), '\n', ' ');
    line += "," + csv_cell(text);
  };
  const auto add_number = [&](double number) { line += fmt::format(",{}", number); };
  for (const std::string& value : row.values) add(value);
  add(row.strategy);
  for (const auto& [outcome, word] : kOutcomes)
    if (row.outcome == outcome) add(word);
  add(row.reason);
  if (row.outcome != PointOutcome::predicted) return line + std::string(kColumns.size() - 2, ',');
  add_number(row.bound_s);
  add(row.bound_by);
  add_number(row.prediction_s);
  for (const auto& end : {row.low_s, row.high_s}) line += end ? fmt::format(",{}", *end) : ",";
  add(row.waits_for);
  add_number(row.waits_s);
  add_number(row.network_bytes);
  add_number(row.copies);
  add(row.busiest_link);
  add_number(row.busiest_used);
  add_number(row.memory_peak_bytes);
  add_number(row.gpu_memory_bytes);
  add(row.over);
  return line;
}

std::string sweep_csv(SweepTable table) {
  std::map<std::int64_t, const SweepRow*> rows;
  for (const SweepRow& row : table.rows) rows[row.point] = &row;
  std::string text = csv_header(table) + "\n";
  for (const auto& [point, row] : rows) text += csv_line(*row) + "\n";
  return text;
}

SweepTable parse_sweep_csv(std::string_view text, const std::string& name) {
  CsvTable csv = parse_csv(text, name);
  SweepTable table;
  const auto& headings = csv.columns;
  const std::size_t fixed = 2 + kColumns.size();
  if (!read_first_heading(headings.front(), table) || headings.size() < fixed) {
    throw Error(ErrorCode::bad_input,
                fmt::format("{}:1: is no result of refit sweep; its first column is headed 'point "
                            "of ... in ...'",
                            name));
  }
  table.columns.assign(headings.begin() + 1,
                       headings.end() - static_cast<std::ptrdiff_t>(fixed - 1));
  for (const CsvRecord& record : csv.records) table.rows.push_back(read_row(record, table, name));
  return table;
}

SweepRow parse_csv_line(std::string_view line, const SweepTable& table) {
  const std::string text = csv_header(table) + "\n" + std::string(line) + "\n";
  return parse_sweep_csv(text, "row").rows.at(0);
}

SweepTable table_of(const Sweep& sweep) {
  return {sweep.hash, sweep.points(), sweep.columns(), {}};
}

void merge_into(SweepTable& table, const SweepTable& other, const std::string& name) {
  if (other.hash != table.hash || other.points != table.points || other.columns != table.columns) {
    throw Error(
        ErrorCode::bad_input,
        fmt::format("{}: is of another sweep ({}, not {}), or of one that was changed since", name,
                    first_heading(other), first_heading(table)));
  }
  std::map<std::int64_t, const SweepRow*> known;
  for (const SweepRow& row : table.rows)
    if (row.outcome != PointOutcome::failed) known[row.point] = &row;
  std::vector<SweepRow> added;
  for (const SweepRow& row : other.rows) {
    const auto found = known.find(row.point);
    if (found == known.end()) {
      added.push_back(row);
    } else if (row.outcome != PointOutcome::failed && !(row == *found->second)) {
      throw Error(ErrorCode::bad_input,
                  fmt::format("{}: says something else of point {} than the files before; they are "
                              "not of one program and its inputs",
                              name, row.point));
    }
  }
  table.rows.insert(table.rows.end(), added.begin(), added.end());
}

}  // namespace refit
