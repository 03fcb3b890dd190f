#include "validation/published_row.h"

#include <span>
#include <unordered_map>

#include <fmt/format.h>

#include "base/csv_table.h"
#include "base/embedded.h"
#include "base/error.h"
#include "base/text_file.h"
#include "validation/detail/cell.h"

namespace refit {

std::span<const EmbeddedFile> published_row_files();  // generated from data/*.csv

namespace {

constexpr std::size_t kMostBytes = std::size_t{64} << 20;

// Reads cells of one record by column name; notes those that can't be read.
class Cells {
 public:
  Cells(const CsvTable& table, const std::string& file) : table_(table), file_(file) {
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      index_.emplace(detail::trimmed(table.columns[i]), i);
    }
  }

  void start(const CsvRecord& record) {
    if (record.cells.size() != table_.columns.size()) {
      throw Error(
          ErrorCode::bad_input,
          fmt::format("{}:{}: {} cells, but the header has {}; quote cells that hold commas", file_,
                      record.line, record.cells.size(), table_.columns.size()));
    }
    record_ = &record;
    unreadable_.clear();
  }

  std::string text(const char* column) const {
    const std::string cell = detail::trimmed(record_->cells[index(column)]);
    return detail::is_nothing(cell) ? "" : cell;
  }

  std::optional<double> number(const char* column) {
    const std::string cell = text(column);
    if (cell.empty() || detail::lower(cell).starts_with("unknown")) return std::nullopt;
    const auto value = detail::parse_number(cell);
    if (!value) note(column, cell, "a number such as 470.2");
    return value;
  }

  std::optional<int> count(const char* column) {
    const std::optional<double> value = number(column);
    if (!value) return std::nullopt;
    const bool whole = *value >= 1 && *value <= 1e6 && *value == static_cast<int>(*value);
    if (whole) return static_cast<int>(*value);
    note(column, text(column), "a whole number from 1 to 1,000,000");
    return std::nullopt;
  }

  const std::map<std::string, std::string>& unreadable() const { return unreadable_; }

 private:
  void note(const char* column, const std::string& cell, const char* right) {
    unreadable_[column] =
        fmt::format("'{}' is not right; write {}, or unknown", detail::printable(cell), right);
  }

  std::size_t index(const char* column) const {
    const auto found = index_.find(column);
    if (found != index_.end()) return found->second;
    throw Error(ErrorCode::bad_input,
                fmt::format("{}: column '{}' is missing; the header needs it", file_, column));
  }

  const CsvTable& table_;
  const std::string& file_;
  std::unordered_map<std::string, std::size_t> index_;
  const CsvRecord* record_ = nullptr;
  std::map<std::string, std::string> unreadable_;
};

PublishedRow read_row(Cells& cells, int line) {
  PublishedRow row;
  row.line = line;
  row.id = cells.text("id");
  row.system = cells.text("system");
  row.source = cells.text("source");
  row.date = cells.text("date");
  row.method = cells.text("method");
  row.model = cells.text("model");
  row.params_b = cells.number("params_b");
  row.dtype = cells.text("dtype");
  row.bytes_gb = cells.number("bytes_gb");
  row.train_gpus = cells.count("train_gpus");
  row.train_gpu_type = cells.text("train_gpu_type");
  row.train_nodes = cells.count("train_nodes");
  row.train_layout = cells.text("train_layout");
  row.infer_gpus = cells.count("infer_gpus");
  row.infer_gpu_type = cells.text("infer_gpu_type");
  row.infer_nodes = cells.count("infer_nodes");
  row.infer_layout = cells.text("infer_layout");
  row.interconnect = cells.text("interconnect");
  row.timing_scope = cells.text("timing_scope");
  row.time_s = cells.number("time_s");
  row.time_low_s = cells.number("time_low_s");
  row.time_high_s = cells.number("time_high_s");
  row.breakdown = cells.text("breakdown");
  row.cert_layout = cells.text("cert_layout");
  row.cert_gpu_counts = cells.text("cert_gpu_counts");
  row.cert_hardware = cells.text("cert_hardware");
  row.cert_bytes = cells.text("cert_bytes");
  row.cert_time = cells.text("cert_time");
  row.validation_grade = cells.text("validation_grade");
  row.notes = cells.text("notes");
  row.unreadable = cells.unreadable();
  return row;
}

}  // namespace

std::vector<PublishedRow> parse_published_rows(std::string_view text, const std::string& name) {
  if (text.size() > kMostBytes) {
    throw Error(ErrorCode::bad_input, fmt::format("{}: more than 64 MiB; split the file", name));
  }
  const CsvTable table = parse_csv(text, name);
  Cells cells(table, name);
  std::vector<PublishedRow> rows;
  std::unordered_map<std::string, int> line_of_id;
  for (const CsvRecord& record : table.records) {
    cells.start(record);
    rows.push_back(read_row(cells, record.line));
    PublishedRow& row = rows.back();
    if (row.id.empty()) {
      throw Error(
          ErrorCode::bad_input,
          fmt::format("{}:{}: id: is empty; give each row a name of its own", name, row.line));
    }
    const auto [first, added] = line_of_id.emplace(row.id, row.line);
    if (!added) {
      row.unreadable["id"] =
          fmt::format("is the id of line {} already; give each row its own", first->second);
    }
  }
  return rows;
}

std::vector<PublishedRow> read_published_rows(const std::string& path) {
  return parse_published_rows(read_text_file(path, kMostBytes), path);
}

std::vector<PublishedRow> published_rows() {
  const EmbeddedFile& file = published_row_files().front();
  return parse_published_rows(file.text, std::string(file.name) + ".csv");
}

}  // namespace refit
