#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/run_report.h"
#include "report/table.h"
#include "schedule/schedule.h"
#include "sim/prediction.h"
#include "topology/cluster.h"
#include "topology/route.h"

namespace refit {

// A prediction and a measurement of one schedule, op by op.
struct Comparison {
  // All ops of a phase whose bytes take one kind of route; busy: at least one of them was under
  // way.
  struct Row {
    std::string phase;
    RouteKind kind = RouteKind::network;
    std::int64_t ops = 0;
    std::int64_t bytes = 0;  // content of the ops
    double predicted_s = 0;  // busy
    double measured_s = 0;
  };
  struct OpPair {
    OpId op;
    std::string words;  // "transfer 1 -> 5"
    std::int64_t bytes = 0;
    Span predicted;
    Span measured;
  };

  std::string scenario, strategy, transport;
  double predicted_s = 0;
  double measured_s = 0;  // last iteration: the one whose ops are known
  double measured_median_s = 0;
  std::vector<Row> rows;
  std::vector<OpPair> largest;  // ops whose durations differ most, at most three
  std::string not_graded;
};

// Error(bad_input) if the measurement is not of this schedule; `plan_name` and `run_name` are what
// the message calls them.
void require_same_plan(const Schedule& schedule, const std::string& scenario,
                       const std::string& plan_name, const RunReport& run,
                       const std::string& run_name);

Comparison compare(const Schedule& schedule, const Cluster& cluster, const Prediction& prediction,
                   const RunReport& run);

std::string comparison_text(const Comparison& comparison);

// Its rows for programs, in seconds and bytes.
Table comparison_table(const Comparison& comparison);

}  // namespace refit
