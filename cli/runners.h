#pragma once

#include <functional>
#include <string>

#include "executor/execute.h"
#include "scenarios/scenario.h"
#include "schedule/schedule.h"

namespace refit {

struct Run {
  Measurement measurement;
  std::string not_graded;  // why no prediction may be held against it; empty: one may
};

// A way to run a schedule for real.
struct Runner {
  std::string transport;
  // Whether bytes take links with the cluster's rates, so that there is something to predict.
  bool has_network = false;
  // Share of a link's rate that reaches the program (headers are bytes, too); for the prediction.
  double link_efficiency = 1;
  // Whether this process has the result; in a job that somebody else started, only rank 0 does.
  bool reports = true;
  // To be called while this process has one thread: it may start others and processes.
  std::function<Run(const Schedule&, const Scenario&, const ExecuteOptions&)> run;
};

// Share of a link's rate that reached the program in a run of this transport: 1 but for the lab.
double link_efficiency(const std::string& transport);

// The one place that knows all transports. Error(bad_input) lists them. `lab`: over an emulated
// cluster with the scenario's links, which only tcp can use.
Runner runner_called(const std::string& transport, bool lab);

}  // namespace refit
