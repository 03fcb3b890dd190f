#include "report/table.h"

#include <catch2/catch.hpp>

#include "report/sensitivity_words.h"

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

TEST_CASE("CSV and JSON of a table have numbers where people read units", "[report][table]") {
  Table table({{"name", Align::left},
               {"moved", Align::right, "moved_bytes"},
               {"time", Align::right, "time_s"},
               {"low_s", Align::unseen}});
  table.add_row({"a, \"b\"", bytes_cell(671'026'419'200), seconds_cell(0.125), number_cell(0.1)});
  table.add_row({"c", "", "-", number_cell(std::nullopt)});
  REQUIRE(table.csv() ==
          "name,moved_bytes,time_s,low_s\n"
          "\"a, \"\"b\"\"\",671026419200,0.125,0.1\n"
          "c,,-,\n");
  const std::string json = table.json("refit.test/1");
  CHECK(json ==
        "{\n  \"schema\": \"refit.test/1\",\n  \"rows\": [\n"
        "    {\n      \"name\": \"a, \\\"b\\\"\",\n      \"moved_bytes\": 671026419200,\n"
        "      \"time_s\": 0.125,\n      \"low_s\": 0.1\n    },\n"
        "    {\n      \"name\": \"c\",\n      \"moved_bytes\": null,\n"
        "      \"time_s\": \"-\",\n      \"low_s\": null\n    }\n  ]\n}\n");
  // What programs alone see is in no table for people.
  CHECK(table.text().find("low_s") == std::string::npos);
  CHECK(table.markdown().find("low_s") == std::string::npos);
}

TEST_CASE("colours take no room in a table", "[report][table]") {
  Table table({{"name", Align::left}, {"n"}});
  table.add_row({Cell("over", std::nullopt, Mark::alarm), "1"});
  table.add_row({"not over", "22"});
  // Bold headings, a bold red cell, and the columns where they are without.
  REQUIRE(table.text(Paint::on) ==
          "\x1b[1mname\x1b[0m       \x1b[1mn\x1b[0m\n"
          "--------  --\n"
          "\x1b[1m\x1b[31mover\x1b[0m       1\n"
          "not over  22\n");
  REQUIRE(table.text(Paint::off) == "name       n\n--------  --\nover       1\nnot over  22\n");
}

TEST_CASE("cells: a difference that is too small to show has no sign", "[report][table]") {
  CHECK(more_seconds_cell(-2.89e-3).text == "-2.89 ms");
  CHECK(more_seconds_cell(0.5).text == "+500.00 ms");
  CHECK(more_seconds_cell(-1e-13).text == "0 s");
  CHECK(more_seconds_cell(-1e-13).number == -1e-13);
  CHECK(more_percent_cell(-0.0009).text == "-0.1 %");
  CHECK(more_percent_cell(-0.0004).text == "0.0 %");
}

TEST_CASE("sensitivity: what is left out of several strategies is said once", "[report][table]") {
  const auto infeasible = [](const char* change, const char* reason) {
    WhatIf what{.change = change, .fields = {}, .row = {}};
    what.row.reason = reason;
    return what;
  };
  const std::string text = sensitivity_table(
      {{"direct", {}, {infeasible("domains x 2", "written out"), infeasible("engine", "full")}},
       {"reshard", {}, {infeasible("domains x 2", "written out")}}},
      Paint::off);
  const std::size_t at = text.find("\nleft out\n");
  REQUIRE(at != std::string::npos);
  CHECK(text.substr(at) ==
        "\nleft out\n"
        "            direct, reshard: domains x 2: written out\n"
        "            direct: engine: full\n");
}

}  // namespace
}  // namespace refit
