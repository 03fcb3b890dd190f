#include "report/run_table.h"

#include <sstream>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/report/run_sample.h"

namespace refit {
namespace {

// Words of the first line that is no comment and begins with `first`.
std::vector<std::string> row(const std::string& text, const std::string& first) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::vector<std::string> cells;
    for (std::string word; words >> word;) cells.push_back(word);
    if (!line.starts_with("#") && !cells.empty() && cells.front() == first) return cells;
  }
  return {};
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("the total row has size, times, bandwidths, wrong bytes and the ratio", "[report][run]") {
  const std::string text = run_table(sample_run());
  CAPTURE(text);
  // 4 GB in a median of 2 s are 2 GB/s; 2 s / 1.6 s = 1.25; rank 5 was slowest in the 3 s
  // iteration.
  CHECK(row(text, "total") == std::vector<std::string>{"total", "4000000000", "1000000.0",
                                                       "2000000.0", "3000000.0", "2.00", "2.00",
                                                       "0", "5", "1600000.0", "1.250"});
  // 3 GB from 0.25 to 1.75 s are 2 GB/s; 1.5 s / 1.2 s = 1.25.
  CHECK(row(text, "reshard") == std::vector<std::string>{"reshard", "3000000000", "-", "1500000.0",
                                                         "-", "2.00", "2.00", "-", "-", "1200000.0",
                                                         "1.250"});
  CHECK(row(text, "gather").back() == "-");  // not predicted
  CHECK(has(text, "# sample: reshard, 8 ranks, transport tcp\n"));
  CHECK(has(text, "# scale 1/2000: bandwidths exactly, bytes 1/1792 (whole rows)"));
  CHECK(has(text, "# pred: prediction, wire-only"));
  CHECK(has(text, "# 0.75 processor seconds per second"));  // 4.5 / 6
  CHECK(has(text, "# graded: "));
}

TEST_CASE("a run as CSV has plain numbers, and nothing where there is none", "[report][run]") {
  const std::string text = run_csv(sample_run());
  CHECK(has(text,
            "phase,size_bytes,min_s,median_s,max_s,algbw_bytes_per_s,wrong_bytes,"
            "slowest_rank,predicted_s,ratio\n"));
  CHECK(has(text, "reshard,3000000000,,1.5,,2000000000,,,1.2,1.25\n"));
  CHECK(has(text, "total,4000000000,1,2,3,2000000000,0,5,1.6,1.25\n"));
}

TEST_CASE("without a network there is no prediction, and the reason is printed", "[report][run]") {
  RunReport report = sample_run();
  report.predicted_s.reset();
  report.not_graded = "inproc has no network";
  const std::string text = run_table(report);
  const std::vector<std::string> total = row(text, "total");
  REQUIRE(total.size() == 11);
  CHECK(total[9] == "-");
  CHECK(total[10] == "-");
  CHECK(has(text, "# pred: none; there is no network to predict\n"));
  CHECK(has(text, "# not graded: inproc has no network\n"));
}

TEST_CASE("wrong bytes are counted and the first are located", "[report][run]") {
  RunReport report = sample_run();
  report.measurement.wrong_bytes = 12;
  report.measurement.wrong_examples = {{Rank{3}, "layers.0.q", 77}};
  const std::string text = run_table(report);
  CHECK(row(text, "total")[7] == "12");
  CHECK(has(text, "# wrong bytes, warm-up included: 12\n#   rank 3, layers.0.q, element 77\n"));
  report.checked = false;
  CHECK(row(run_table(report), "total")[7] == "N/A");
}

}  // namespace refit
