#pragma once

#include "scenarios/scenario.h"
#include "schedule/schedule.h"

namespace refit {

// The scenario in small, to be run on machines that do not hold it: `factor` (1/2000) times the
// bytes over links of `factor` times the bandwidth take the same seconds. Every rank, layout and
// message stays; latencies do too, so chunks that were bandwidth must still be bandwidth.
//
// Tensors shrink along dims that neither side cuts, the largest first, by whole rows and never
// below one; bandwidths are scaled exactly. Cut dims keep their length, and so their cuts between
// blocks that share a scale. So the bytes come near the factor only: compare
// unique_bytes(). `model` and `text` still tell of the scenario as it was written. Error(bad_input)
// unless 0 < factor <= 1.
Scenario scaled(const Scenario& scenario, double factor);

// A plan for `from`, said of the same refit in small (`to`): equal ops between equal ranks, each
// with its bytes now. Error(bad_input) if the plan cuts where only the small refit is shorter.
Schedule scaled(const Schedule& schedule, const Refit& from, const Refit& to);

}  // namespace refit
