#include "validation/published_row.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include <catch2/catch.hpp>

#include "base/error.h"

using namespace refit;

namespace {

const std::string kHeader =
    "id,system,source,date,method,model,params_b,dtype,bytes_gb,train_gpus,train_gpu_type,train_"
    "nodes,"
    "train_layout,infer_gpus,infer_gpu_type,infer_nodes,infer_layout,interconnect,timing_scope,"
    "time_s,"
    "time_low_s,time_high_s,breakdown,cert_layout,cert_gpu_counts,cert_hardware,cert_bytes,cert_"
    "time,"
    "validation_grade,notes\n";

// Only id, params_b, train_gpus, time_s and notes matter here.
std::string row(const std::string& id, const std::string& params_b, const std::string& train_gpus,
                const std::string& notes) {
  return id + ",,,,,," + params_b + ",,," + train_gpus + ",,,,,,,,,,1.5,,,,,,,,,," + notes + "\n";
}

std::vector<PublishedRow> parse(const std::string& text) {
  return parse_published_rows(text, "rows.csv");
}

using Cells = std::map<std::string, std::string>;

std::string complaint(const std::string& text) {
  try {
    parse(text);
  } catch (const Error& error) {
    REQUIRE(error.code() == ErrorCode::bad_input);
    return error.what();
  }
  FAIL("no error");
  return "";
}

}  // namespace

TEST_CASE("rows: quoted cells hold commas, quotes and line ends, and lines are counted",
          "[validation]") {
  const auto rows =
      parse("\xEF\xBB\xBF" + kHeader + row("A", "1", "8", "\"one, \"\"two\"\"\nthree\"") + "\r\n" +
            row("B", "2", "16", "plain"));
  REQUIRE(rows.size() == 2);
  REQUIRE(rows[0].notes == "one, \"two\"\nthree");
  REQUIRE(rows[0].line == 2);
  REQUIRE(rows[1].line == 5);  // the first takes lines 2 and 3, line 4 is empty
  REQUIRE(rows[1].notes == "plain");
  REQUIRE(rows[1].time_s == 1.5);
}

TEST_CASE("rows: columns are found by name, and others are left alone", "[validation]") {
  // The same columns backwards, with one more in front.
  std::string header = "remark", cells = "x";
  std::vector<std::string> names;
  for (std::size_t at = 0; at < kHeader.size() - 1;) {
    const std::size_t end = std::min(kHeader.find(',', at), kHeader.size() - 1);
    names.push_back(kHeader.substr(at, end - at));
    at = end + 1;
  }
  for (auto name = names.rbegin(); name != names.rend(); ++name) {
    header += "," + *name;
    cells += *name == "id" ? ",A" : *name == "bytes_gb" ? ",8.82" : ",";
  }
  const auto rows = parse(header + "\n" + cells);
  REQUIRE(rows.size() == 1);
  REQUIRE(rows[0].id == "A");
  REQUIRE(rows[0].bytes_gb == 8.82);
}

TEST_CASE("rows: what nobody knows is nothing", "[validation]") {
  for (const char* cell :
       {"", "unknown", "Unknown", "n/a", "-", " not stated ", "unknown (cloud)"}) {
    CAPTURE(cell);
    REQUIRE_FALSE(parse(kHeader + row("A", cell, cell, "")).front().params_b);
    REQUIRE_FALSE(parse(kHeader + row("A", cell, cell, "")).front().train_gpus);
  }
  REQUIRE(parse(kHeader + row("A", "1", "8", "unknown")).front().notes.empty());
}

TEST_CASE("rows: numbers as people write them", "[validation]") {
  const auto gpus = [](const std::string& cell) {
    return parse(kHeader + row("A", "", '"' + cell + '"', "")).front().train_gpus;
  };
  REQUIRE(gpus("64") == 64);
  REQUIRE(gpus("~64") == 64);
  REQUIRE(gpus("about 64") == 64);
  REQUIRE(gpus("1,024") == 1024);
  REQUIRE(gpus("64+") == 64);
  REQUIRE(gpus("64 (the fewest that fit)") == 64);
  REQUIRE(parse(kHeader + row("A", "235.1", "", "")).front().params_b == 235.1);
}

TEST_CASE("rows: a cell that is no number is noted with what would be right, and others are read",
          "[validation]") {
  const auto rows = parse(kHeader + row("A", "1", "8", "") + row("B", "many", "8 to 16", "") +
                          row("C", "1", "8.5", ""));
  REQUIRE(rows.size() == 3);
  REQUIRE(rows[0].unreadable.empty());
  REQUIRE(
      rows[1].unreadable ==
      Cells{{"params_b", "'many' is not right; write a number such as 470.2, or unknown"},
            {"train_gpus", "'8 to 16' is not right; write a number such as 470.2, or unknown"}});
  REQUIRE_FALSE(rows[1].train_gpus);
  REQUIRE(rows[2].unreadable ==
          Cells{{"train_gpus",
                 "'8.5' is not right; write a whole number from 1 to 1,000,000, or unknown"}});
  for (const char* cell : {"-8", "0", "1e99", "nan", "inf", "1,02", ",5", "0x10", "2000000"}) {
    CAPTURE(cell);
    const auto wrong = parse(kHeader + row("A", "1", std::string("\"") + cell + "\"", ""));
    REQUIRE(wrong.front().unreadable.contains("train_gpus"));
  }
}

TEST_CASE("rows: an id that an earlier row has is noted, and none at all is refused",
          "[validation]") {
  const auto rows =
      parse(kHeader + row("A", "", "", "") + row("A", "", "", "") + row("B", "", "", ""));
  REQUIRE(rows.size() == 3);
  REQUIRE(rows[0].unreadable.empty());
  REQUIRE(rows[1].unreadable ==
          Cells{{"id", "is the id of line 2 already; give each row its own"}});
  REQUIRE(rows[2].unreadable.empty());
  REQUIRE(complaint(kHeader + row("", "", "", "")) ==
          "rows.csv:2: id: is empty; give each row a name of its own");
}

TEST_CASE("rows: a file that is no such table is refused", "[validation]") {
  REQUIRE(complaint("") == "rows.csv:1: no header; the first line names the columns");
  REQUIRE(complaint("id,system\nA,B\n") ==
          "rows.csv: column 'source' is missing; the header needs it");
  REQUIRE(complaint("id,id\nA,B\n") == "rows.csv:1: column 'id' is there twice; name each once");
  REQUIRE(complaint(kHeader + "A,B\n") ==
          "rows.csv:2: 2 cells, but the header has 30; quote cells that hold commas");
  REQUIRE_THAT(complaint(kHeader + row("A", "", "", "\"open")),
               Catch::Contains("quotes do not match"));
  REQUIRE_THAT(complaint(kHeader + row("A", "", "", "a\"b\"c")),
               Catch::Contains("quotes do not match"));
  REQUIRE(complaint(std::string((std::size_t{64} << 20) + 1, 'x')) ==
          "rows.csv: more than 64 MiB; split the file");
  REQUIRE_THROWS_AS(read_published_rows("/nowhere/rows.csv"), Error);
}

TEST_CASE("rows: the program carries 65 of them, each with a time and a source", "[validation]") {
  const auto rows = published_rows();
  REQUIRE(rows.size() == 65);
  std::set<std::string> grades;
  for (const PublishedRow& r : rows) {
    CAPTURE(r.id);
    REQUIRE(r.time_s);
    REQUIRE(r.bytes_gb);
    REQUIRE_FALSE(r.source.empty());
    grades.insert(r.validation_grade);
    if (r.time_low_s && r.time_high_s) REQUIRE(*r.time_low_s <= *r.time_high_s);
  }
  REQUIRE(grades == std::set<std::string>{"A", "B", "C"});
}
