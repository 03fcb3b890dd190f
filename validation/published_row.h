#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace refit {

// One published number, as a CSV row writes it down (docs/validation_rows.md): what was timed, on
// which machines, and how sure the facts are. Texts are as written, only trimmed; empty cells and
// "unknown" are empty texts and missing numbers. GB = 1e9 bytes.
struct PublishedRow {
  std::string id;
  std::string system, source, date, method;
  std::string model;
  std::optional<double> params_b;  // billions
  std::string dtype;
  std::optional<double> bytes_gb;
  std::optional<int> train_gpus;
  std::string train_gpu_type;
  std::optional<int> train_nodes;
  std::string train_layout;
  std::optional<int> infer_gpus;
  std::string infer_gpu_type;
  std::optional<int> infer_nodes;
  std::string infer_layout;
  std::string interconnect;
  std::string timing_scope;
  std::optional<double> time_s, time_low_s, time_high_s;
  std::string breakdown;
  // stated, inferred or unknown.
  std::string cert_layout, cert_gpu_counts, cert_hardware, cert_bytes, cert_time;
  std::string validation_grade;  // A to C
  std::string notes;
  int line = 0;  // where the row begins in its file, from 1
  // Cells that say something else than their column holds: column and what would be right. Such a
  // row can't be predicted; others of its file can.
  std::map<std::string, std::string> unreadable;
};

// Columns are found by name, in any order; others are left alone. Error(bad_input), with file and
// line, is for what is no such table; more than 64 MiB are refused.
std::vector<PublishedRow> read_published_rows(const std::string& path);
std::vector<PublishedRow> parse_published_rows(std::string_view text, const std::string& name);

// The rows that the program carries: validation/data/published_refit_times.csv.
std::vector<PublishedRow> published_rows();

}  // namespace refit
