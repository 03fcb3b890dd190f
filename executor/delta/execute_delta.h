#pragma once

#include "executor/delta/delta_measurement.h"
#include "executor/delta/delta_options.h"
#include "executor/execute_tcp.h"
#include "models/refit.h"
#include "schedule/schedule.h"
#include "topology/cluster.h"

namespace refit {

// Runs a verified plan that sends changes (Schedule::coding), version after version: a seeded
// trainer on the source ranks, an anchor, then deltas that are compared, coded, sent over the
// plan's relays, checked, applied and committed on all ranks or on none. Every destination element
// is compared with what the trainer made of it, and whole tensors of both sides by fingerprint.
//
// A run in another layout goes on from another's last version by its anchor
// (DeltaRunOptions::first_version).
DeltaMeasurement execute_delta_inproc(const Schedule& schedule, const Refit& refit,
                                      const Cluster& cluster, const DeltaRunOptions& options = {});

// One process per rank on this machine, connected by TCP. RankFailure if a rank dies, stalls or
// goes wrong. Of `tcp`, a fault to inject and what to do about one are not for this: a lost rank
// ends the run.
DeltaMeasurement execute_delta_tcp(const Schedule& schedule, const Refit& refit,
                                   const Cluster& cluster, const DeltaRunOptions& options = {},
                                   const TcpOptions& tcp = {});

// The same as one rank of a job (execute_tcp_rank); rank 0 returns the measurement.
DeltaMeasurement execute_delta_tcp_rank(const RankEnvironment& place, const Schedule& schedule,
                                        const Refit& refit, const Cluster& cluster,
                                        const DeltaRunOptions& options = {},
                                        const TcpOptions& tcp = {});

}  // namespace refit
