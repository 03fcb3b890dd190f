#include "report/table.h"

#include <catch2/catch.hpp>

namespace refit {
namespace {

TEST_CASE("a table aligns its columns and leaves no trailing blanks", "[report][table]") {
  Table table({{"name", Align::left}, {"bytes"}, {"note", Align::left}});
  table.add_row({"direct", "16.00 GB", "x"});
  table.add_row({"reshard", "2.00 GB", ""});
  REQUIRE(table.text() ==
          "name        bytes  note\n"
          "-------  --------  ----\n"
          "direct   16.00 GB  x\n"
          "reshard   2.00 GB\n");
}

TEST_CASE("a column with nothing in it is left out", "[report][table]") {
  Table table({{"a"}, {"b"}, {"c"}});
  table.add_row({"1", "", "2"});
  table.add_row({"3", "", "4"});
  REQUIRE(table.text() == "a  c\n-  -\n1  2\n3  4\n");
}

TEST_CASE("a letter of two bytes takes one column", "[report][table]") {
  Table table({{"name", Align::left}, {"n"}});
  table.add_row({"\xC3\xBC", "1"});
  table.add_row({"uu", "2"});
  REQUIRE(table.text() == "name  n\n----  -\n\xC3\xBC     1\nuu    2\n");
}

TEST_CASE("a table without rows shows its headings", "[report][table]") {
  REQUIRE(Table({{"a"}, {"b"}}).text() == "a  b\n-  -\n");
}

TEST_CASE("a table of a Markdown page says how columns are aligned", "[report][table]") {
  Table table({{"name", Align::left}, {"n"}, {"", Align::left}});
  table.add_row({"a | b", "1", ""});
  REQUIRE(table.markdown() ==
          "| name | n |  |\n"
          "| --- | ---: | --- |\n"
          "| a \\| b | 1 |  |\n");
}

}  // namespace
}  // namespace refit
