#pragma once

#include "scenarios/scenario.h"
#include "sim/certificate.h"

namespace refit {

// The least time of any correct plan of the scenario's refit. `coded`: of plans that send what has
// changed, as the scenario's `delta`, which there must be, says.
RefitBound scenario_bound(const Scenario& scenario, bool coded);

}  // namespace refit
