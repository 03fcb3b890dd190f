#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "report/paint.h"

namespace refit {

enum class Align {
  left,
  right,
  unseen,  // a column of CSV and JSON only
};

// What a person reads, and the number that a program does, in the base unit of its column.
struct Cell {
  Cell(std::string shown, std::optional<double> exact = {}, Mark how = Mark::none)
      : text(std::move(shown)), number(exact), mark(how) {}
  Cell(const char* shown) : text(shown) {}

  std::string text;
  std::optional<double> number;
  Mark mark = Mark::none;
};

Cell bytes_cell(double bytes);
Cell seconds_cell(double seconds);
Cell bandwidth_cell(double bytes_per_s);
Cell count_cell(std::int64_t count);
Cell percent_cell(double share, int digits = 0);  // 0.123 is "12 %"
// Differences, with a sign unless they are too small to show: "-2.89 ms", "0 s"; "+3.4 %".
Cell more_seconds_cell(double seconds);
Cell more_percent_cell(double share, int digits = 1);
Cell number_cell(std::optional<double> number);  // of an unseen column

// Rows of text in aligned columns, two blanks apart, with a heading and a rule under it.
//
//   strategy   network
//   --------  --------
//   direct    16.00 GB
class Table {
 public:
  struct Column {
    std::string heading;
    Align align = Align::right;
    std::string field = {};  // its name for programs, as in "network_bytes"; empty: the heading
    bool for_people = false;  // in no CSV or JSON: other columns have its numbers
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // One cell per column (REFIT_CHECK).
  void add_row(std::vector<Cell> cells);

  // Lines end without trailing blanks. Columns whose cells are all empty are left out.
  std::string text(Paint paint = Paint::off) const;

  // The same as a table of a Markdown page, all columns of it.
  std::string markdown() const;

  // RFC 4180 with a header of the fields: numbers where cells have them, their texts where not.
  std::string csv() const;

  // {"schema": SCHEMA, "rows": [{FIELD: number or text, ...}, ...]}; empty cells are null.
  std::string json(const std::string& schema) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace refit
