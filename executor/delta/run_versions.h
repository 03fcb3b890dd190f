#pragma once

#include "executor/delta/delta_options.h"
#include "executor/delta/delta_seat.h"
#include "executor/delta/geometry.h"

namespace refit {

// What is equal on all ranks of a run of versions.
struct DeltaPlan {
  const Schedule& schedule;
  const Refit& refit;
  const Cluster& cluster;
  const DeltaGeometry& geometry;
  const DeltaRunOptions& options;
};

// How segments are written down by this plan's codec. Error(bad_input): a plan that sends no
// changes, or by a codec that is here for comparison only.
DeltaMode mode_of(const Schedule& schedule);

// One rank's whole part: an anchor, then version after version, each committed on all ranks or on
// none. Error(check_failed) if a version can't be; the weights are then still the last one.
void run_versions(const DeltaPlan& plan, Rank rank, DeltaSeat& seat);

}  // namespace refit
