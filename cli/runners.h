#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/error.h"
#include "executor/execute.h"
#include "executor/rank_environment.h"
#include "scenarios/scenario.h"
#include "schedule/schedule.h"

namespace refit {

// A plan of changes as one version ran it: with the sizes that its payloads had.
struct SizedPlan {
  Schedule schedule;
  MoveOptions moves;
};

struct Run {
  Measurement measurement;
  std::string not_graded;               // why no prediction may be held against it; empty: one may
  std::optional<SizedPlan> sized = {};  // of the last version, if the plan's moves carried it
};

// What a run does about lost ranks, and which one it loses on purpose.
struct RunFaults {
  FaultPolicy policy = FaultPolicy::fail;
  std::optional<FaultSpec> inject;  // its time in seconds
  std::optional<double> timeout_s;  // silence that counts as loss; nothing: the transport's own
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
  // Whether another process of the job says it, so that this one need not.
  std::function<bool(const Error&)> said_elsewhere = [](const Error&) { return false; };
  // To be called while this process has one thread: it may start others and processes.
  std::function<Run(const Schedule&, const Scenario&, const ExecuteOptions&, const RunFaults&)> run;
  // Whether ranks are processes, so that one can be lost and the others go on.
  bool can_lose_ranks = false;
};

// What a rank of a job does with an error (Runner::said_elsewhere): rank 0 says it if it can.
std::function<bool(const Error&)> said_by_rank_zero(const RankEnvironment& place);

// Why a run on machines that somebody else chose is not graded.
inline constexpr const char* kLinksNotKnown =
    "whether the machines of this job have the scenario's links is yours to know";

// Share of a link's rate that reached the program in a run of this transport: 1 but for the lab.
double link_efficiency(const std::string& transport);

// For plans that send changes.
struct VersionOptions {
  std::optional<std::string> store;  // address of an object store: payloads travel through it
  double learning_rate = 1e-6;       // of the trainer: how much changes
  std::uint64_t first_version = 0;   // that both sides have, or that travels whole
};

// The one place that knows all transports. Error(bad_input) lists them. `lab`: over an emulated
// cluster with the scenario's links, which only tcp can use.
Runner runner_called(const std::string& transport, bool lab, const VersionOptions& versions = {});

// Before the kernel ends whoever it likes best: Error(environment) if all ranks' shards are more
// than what is left of memory, `sources` times those of the training side and `destinations` times
// the others.
void require_memory(const Refit& refit, int destinations = 1, int sources = 1);

}  // namespace refit
