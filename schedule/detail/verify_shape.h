#pragma once

#include "base/diagnostic.h"
#include "models/refit.h"
#include "schedule/schedule.h"

namespace refit::detail {

// Whether everything that a schedule names exists: ranks, groups, cargos, parcels, lanes, phases
// and chunks. The other halves of verify rely on it. Findings stop at the first.
Diagnostics verify_shape(const Schedule& schedule, const Refit& refit);

}  // namespace refit::detail
