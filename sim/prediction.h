#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/id.h"
#include "schedule/timeline.h"
#include "sim/attribution.h"
#include "sim/reductions.h"
#include "topology/link.h"

namespace refit {

struct LinkLoad {
  LinkId link;
  std::string name;
  LinkKind kind = LinkKind::nvlink;
  double bytes = 0;
  double utilisation = 0;  // bytes / (line rate x makespan)
};

struct PhaseTime {
  std::string name;
  double start_s = 0;
  double end_s = 0;
  double work_s = 0;  // time in which at least one compute op of this phase ran
};

// What a simulation says of a schedule on a cluster, and what it rests on.
struct Prediction {
  std::string network_model;
  std::string solver;         // "native" or "incremental"
  std::string solver_reason;  // "asked for", "of 12 transfers"
  ReductionReport reductions;
  Timeline timeline;
  double makespan_s = 0;
  std::vector<double> link_bytes;  // per LinkId
  std::vector<PhaseTime> phases;
  LinkLoad busiest;                        // the link with the largest bytes / line rate
  std::optional<Attribution> attribution;  // if asked for
};

}  // namespace refit
