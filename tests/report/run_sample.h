#pragma once

#include "report/run_report.h"

namespace refit {

// Three iterations of 3, 1 and 2 s, so that minimum, median and maximum are 1, 2 and 3 s; 4 GB for
// the busiest rank are 2 GB/s; a prediction of 1.6 s makes the ratio 1.25.
inline RunReport sample_run() {
  RunReport report;
  report.scenario = "sample";
  report.strategy = "reshard";
  report.scale = {0.0005, 0.000558};
  report.seed = 18446744073709551615u;  // the largest: does not fit in a double
  report.warmup = 1;
  report.predicted_s = 1.6;
  report.phases = {{"reshard", 3'000'000'000, {0.25, 1.75}, Span{0, 1.2}},
                   {"gather", 1'000'000'000, {0, 0.5}, std::nullopt}};
  Measurement& measurement = report.measurement;
  measurement.transport = "tcp";
  measurement.ranks = 8;
  measurement.iterations = {{3, Rank{5}, 0}, {1, Rank{0}, 0}, {2, Rank{7}, 0}};
  measurement.timeline = {{0, 0.1 + 0.2}, {0.5, 1.75}};
  measurement.largest_rank_bytes = 4'000'000'000;
  measurement.cpu_s = 4.5;  // of 6 s
  measurement.environment = {{"kernel", "Linux 6.1"}, {"cores", "2"}};
  return report;
}

}  // namespace refit
