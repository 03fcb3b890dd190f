#include "report/summary.h"

#include <catch2/catch.hpp>

#include <fmt/format.h>

#include "tests/report/sample.h"

namespace refit {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("the summary says what was asked and what the numbers are", "[report][summary]") {
  const std::string text = simulation_summary(sample_report());
  CAPTURE(text);
  CHECK(has(text, "scenario     sample\n"));
  CHECK(has(text, "assumes      NICs reach line rate\n"));
  CHECK(has(text, "unique       10.00 GB (one copy of the weights)\n"));
  CHECK(has(text, "network model default, solver incremental\n"));
  CHECK(has(text, "set by domain 1 ingress\n"));
  CHECK(has(text, "Nothing here was measured"));
}

TEST_CASE("a row shows bytes, copies and the prediction over the bound", "[report][summary]") {
  SimulationReport report = sample_report();
  const std::string text = simulation_summary(report);
  CAPTURE(text);
  // 0.75 s predicted / 0.5 s bound = 1.50; 40 GB over the network / 10 GB unique = 4.00.
  const std::size_t row = text.find("\ndirect ");
  REQUIRE(row != std::string::npos);
  const std::string line = text.substr(row + 1, text.find('\n', row + 1) - row - 1);
  CHECK(has(line, "4.00 x"));
  CHECK(has(line, "1.50 x"));
  CHECK(has(line, "node 1 nic 0 in"));
  CHECK(has(line, "67 %"));
}

TEST_CASE("different numbers of copies are explained, equal ones are not", "[report][summary]") {
  SimulationReport report = sample_report();
  CHECK(has(simulation_summary(report), "direct sends 4.00 copies of the weights"));
  CHECK(has(simulation_summary(report), "reshard sends 2.00: ranks of one NVLink domain"));
  report.strategies[0].copies = 2;
  CHECK_FALSE(has(simulation_summary(report), "copies of the weights"));
  report.strategies.pop_back();
  CHECK_FALSE(has(simulation_summary(report), "copies of the weights"));
}

TEST_CASE("conversions are listed, a line per kind with its side, tensors and bytes",
          "[report][summary]") {
  SimulationReport report = sample_report();
  CHECK_FALSE(has(simulation_summary(report), "converts"));
  report.conversions = {
      {ValueOp::quantise, EdgeSide::source, "bf16 to fp8_blockwise", 1234, 8'000'000, 4'000'977},
      {ValueOp::cast, EdgeSide::destination, "router to f32", 1, 2000, 4000}};
  const std::string text = simulation_summary(report);
  CAPTURE(text);
  CHECK(
      has(text,
          "converts     source: quantise (bf16 to fp8_blockwise), 1,234 tensors, 8.00 MB read and "
          "4.00 MB written by all ranks\n"));
  CHECK(has(text,
            "converts     destination: cast (router to f32), 1 tensor, 2.00 kB read and 4.00 kB "
            "written by all ranks\n"));
}

TEST_CASE("the fullest GPU of each strategy has a line", "[report][summary]") {
  SimulationReport report = sample_report();
  StrategyResult& row = report.strategies[0];
  row.memory_rank = Rank(5);
  row.memory_bytes = 70e9;
  row.memory_dominant = "staging";
  row.memory_dominant_bytes = 60e9;
  CHECK(has(simulation_summary(report),
            "\nmemory      direct: rank 5 holds 70.00 GB at its peak, 60.00 GB of it staging\n"));
  row.gpu_memory_bytes = 64e9;
  row.memory_over = Rank(3);
  CHECK(has(simulation_summary(report),
            "\nmemory      direct: rank 5 holds 70.00 GB of 64.00 GB at its peak, 60.00 GB of it "
            "staging; rank 3 is the first that has too little\n"));
}

TEST_CASE("each plan has a certificate line", "[report][summary]") {
  SimulationReport report = sample_report();
  Certificate& certificate = report.strategies[0].certificate;
  // 0.55 s / 0.5 s
  CHECK(has(simulation_summary(report),
            "\ncertificate direct: wire-only 550.00 ms = 1.100 x bound; chunk 2.00 MB, relays 4 "
            "deep, 200.00 us to fill; plan 0123456789abcdef\n"));
  certificate.relay_depth = 0;
  CHECK(has(simulation_summary(report), "x bound; chunk 2.00 MB, no relays; plan 0123"));
  certificate.chunk_bytes = 0;
  CHECK(has(simulation_summary(report), "x bound; plan 0123"));
  certificate.latency_s = 1e-3;  // times 400 and 3 levels
  CHECK(
      has(simulation_summary(report),
          "direct: wire-only 550.00 ms, no ratio: latency dominates where the bound is under 1.20 "
          "s; plan 0123"));
  certificate.bound_s = certificate.latency_s = certificate.wire_s = 0;
  CHECK(has(simulation_summary(report), "direct: wire-only 0 s; plan 0123"));
}

TEST_CASE("what was chosen is said under the table, with two lines why", "[report][summary]") {
  SimulationReport report = sample_report();
  CHECK_FALSE(has(simulation_summary(report), "\nauto"));
  report.chosen = {"reshard", "because\nof this"};
  CHECK(has(simulation_summary(report),
            "\n\nauto        takes reshard: because\n            of this\n\n"));
}

TEST_CASE("memory by ranks has a row per class and a column per term that there is",
          "[report][summary]") {
  SimulationReport report = sample_report();
  CHECK_FALSE(has(simulation_summary(report), "by ranks"));
  MemoryClass sources, destinations;
  sources.ranks = {Rank(0), Rank(1), Rank(2), Rank(5), Rank(7), Rank(9), Rank(11)};
  sources.fullest = Rank(5);
  sources.peak = {{8e9, 0, 0, 0, 1e9, 0, 0, 2e9}, 0.25};
  sources.gpu_memory_bytes = 90e9;
  destinations.ranks = {Rank(16)};
  destinations.fullest = Rank(16);
  destinations.peak = {{0, 4e9, 0, 0, 0, 0, 0}, 0};
  report.strategies[0].memory_by_class = {0.1, {sources, destinations}, 3};
  const std::string text = simulation_summary(report);
  CAPTURE(text);
  const std::string lines[] = {
      "memory of direct, by ranks that hold as much",
      "ranks         count  fullest     peak  of its GPU       when  "
      "dominant            source shards  destination shards  staging  host copies",
      "------------  -----  -------  -------  ----------  ---------  "
      "------------------  -------------  ------------------  -------  -----------",
      "0-2, 5, 7, …      7        5  9.00 GB      10.0 %  250.00 ms  "
      "source shards             8.00 GB                      1.00 GB      2.00 GB",
      "16                1       16  4.00 GB                    0 s  "
      "destination shards                            4.00 GB",
      "and 3 classes of ranks with lower peaks",
  };
  CHECK(has(text, fmt::format("\n{}\n", fmt::join(lines, "\n"))));
}

TEST_CASE("a bound of zero gives no ratio", "[report][summary]") {
  SimulationReport report = sample_report();
  report.strategies.resize(1);
  report.strategies[0].certificate.bound_s = 0;
  const std::string text = simulation_summary(report);
  CHECK_FALSE(has(text, "inf"));
  CHECK_FALSE(has(text, "nan"));
}

TEST_CASE("a cluster of several lines stays under its label", "[report][summary]") {
  SimulationReport report = sample_report();
  report.cluster = "first\nsecond";
  CHECK(has(simulation_summary(report), "cluster      first\n             second\n"));
}

}  // namespace
}  // namespace refit
