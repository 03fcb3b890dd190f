#pragma once

#include <vector>

#include "planner/conduct.h"
#include "planner/delta.h"
#include "planner/optimal/inside.h"
#include "planner/optimal/problem.h"
#include "schedule/schedule.h"

namespace refit {

struct EmitOptions {
  bool one_lane = false;  // all transfers in one queue: one communicator is enough, and slower
  LinkCaps caps;
  int ctas = 0;
  const DeltaOptions* delta = nullptr;  // if parcels travel coded
  Around around = {};
  int window_times = 1;  // so many times the transfers that were planned may run at a time
};

// The schedule of what was chosen: transfers in the order in which they start, on lanes with
// windows, between the software before and after that every strategy has.
Schedule emit(const Refit& refit, std::vector<Parcel> parcels, const Solution& wires,
              const Inside& inside, const EmitOptions& options);

}  // namespace refit
