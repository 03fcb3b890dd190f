#pragma once

#include <string>
#include <vector>

namespace refit {

enum class Align { left, right };

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
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // One cell per column (REFIT_CHECK).
  void add_row(std::vector<std::string> cells);

  // Lines end without trailing blanks. Columns whose cells are all empty are left out.
  std::string text() const;

  // The same as a table of a Markdown page, all columns of it.
  std::string markdown() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace refit
