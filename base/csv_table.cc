#include "base/csv_table.h"

#include <functional>
#include <set>
#include <utility>

#include <csv.h>
#include <fmt/format.h>

#include "base/error.h"
#include "base/shown.h"

namespace refit {
namespace {

// What libcsv's callbacks fill. They are called from C and must not throw; running out of memory
// ends the program either way.
struct Reading {
  std::vector<CsvRecord> records;
  CsvRecord record;
};

void end_cell(void* text, std::size_t bytes, void* reading) noexcept {
  static_cast<Reading*>(reading)->record.cells.emplace_back(static_cast<const char*>(text), bytes);
}

void end_record(int, void* reading) noexcept {
  Reading& r = *static_cast<Reading*>(reading);
  r.records.push_back(std::exchange(r.record, {}));
}

class Parser {
 public:
  // libcsv trims blanks beside cells by itself; strict: a quote inside an unquoted cell is an
  // error.
  Parser() { csv_init(&parser_, CSV_STRICT | CSV_STRICT_FINI); }
  ~Parser() { csv_free(&parser_); }
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  csv_parser* get() { return &parser_; }

 private:
  csv_parser parser_ = {};
};

// Without blanks at the ends: a name with and without them is the same name.
std::string_view trimmed(std::string_view text) {
  constexpr const char* kBlanks = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

[[noreturn]] void fail(const std::string& name, int line, const char* what) {
  throw Error(ErrorCode::bad_input, fmt::format("{}:{}: {}", name, line, what));
}

constexpr const char* kQuotes =
    "quotes do not match; enclose the cell in quotes and double those inside";

// Line by line, since libcsv does not count them: a record begins on the first line that is not
// empty after the last one has ended.
std::vector<CsvRecord> read_records(std::string_view text, const std::string& name) {
  Parser parser;
  Reading reading;
  std::size_t ended = 0;
  int line = 0, begin = 1;
  bool between_records = true;
  while (!text.empty()) {
    ++line;
    const std::string_view row =
        text.substr(0, text.find('\n') == text.npos ? text.npos : text.find('\n') + 1);
    text.remove_prefix(row.size());
    if (between_records) begin = line;
    if (csv_parse(parser.get(), row.data(), row.size(), end_cell, end_record, &reading) !=
        row.size()) {
      fail(name, line, kQuotes);
    }
    const bool blank = row.find_first_not_of(" \t\r\n") == row.npos;
    if (reading.records.size() > ended) {
      for (; ended < reading.records.size(); ++ended) reading.records[ended].line = begin;
      between_records = true;
    } else if (!blank) {
      between_records = false;
    }
  }
  if (csv_fini(parser.get(), end_cell, end_record, &reading) != 0) fail(name, begin, kQuotes);
  for (; ended < reading.records.size(); ++ended) reading.records[ended].line = begin;
  return std::move(reading.records);
}

}  // namespace

CsvTable parse_csv(std::string_view text, const std::string& name) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";  // spreadsheets write it
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  std::vector<CsvRecord> records = read_records(text, name);
  if (records.empty()) fail(name, 1, "no header; the first line names the columns");
  CsvTable table;
  table.columns = std::move(records.front().cells);
  std::set<std::string, std::less<>> seen;
  for (const std::string& column : table.columns) {
    if (!seen.emplace(trimmed(column)).second) {
      throw Error(ErrorCode::bad_input,
                  fmt::format("{}:{}: column '{}' is there twice; name each once", name,
                              records.front().line, shown(column)));
    }
  }
  records.erase(records.begin());
  table.records = std::move(records);
  return table;
}

std::string csv_cell(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  const bool plain = text.find_first_of(",\"\r\n") == text.npos &&
                     (text.empty() || (!blank(text.front()) && !blank(text.back())));
  if (plain) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace refit
