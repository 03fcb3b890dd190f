#include "base/csv_table.h"

#include <catch2/catch.hpp>

namespace refit {
namespace {

TEST_CASE("csv: a cell comes back as it was, whatever is in it", "[base][csv]") {
  const std::vector<std::string> cells = {"plain",    "a,b",   "say \"no\"", "two\nlines",
                                          " blanks ", "\tTab", "",           "1.5e-3"};
  std::string text;
  for (std::size_t i = 0; i < cells.size(); ++i) text += (i > 0 ? "," : "") + csv_cell(cells[i]);
  const CsvTable table = parse_csv("a,b,c,d,e,f,g,h\n" + text + "\n", "f.csv");
  REQUIRE(table.records.size() == 1);
  CHECK(table.records[0].cells == cells);
  CHECK(csv_cell("plain") == "plain");
  CHECK(csv_cell("a,b") == "\"a,b\"");
}

}  // namespace
}  // namespace refit
