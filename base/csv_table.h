#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace refit {

struct CsvRecord {
  std::vector<std::string> cells;
  int line = 0;  // where it begins, from 1
};

// The first record names the columns, the others are as long as they are.
struct CsvTable {
  std::vector<std::string> columns;
  std::vector<CsvRecord> records;
};

// CSV as RFC 4180 has it: quoted cells may hold commas, line ends and doubled quotes; empty lines
// are skipped. Error(bad_input) with file and line if quotes do not match, a column is named twice
// or there is no header.
CsvTable parse_csv(std::string_view text, const std::string& name);

// The other way: a cell as it is written, in quotes if it holds a comma, a quote, a line end or
// blanks at an end.
std::string csv_cell(std::string_view text);

}  // namespace refit
