#pragma once

#include "base/diagnostic.h"
#include "models/refit.h"
#include "schedule/schedule.h"

namespace refit::detail {

// The geometric half of verify: the parcels' fragments divide every tensor without gap or overlap,
// and each lies inside the shards of exactly the ranks that its parcel names, on both sides, and
// outside all others. It looks at layouts only; it does not use find_parcels.
Diagnostics verify_parcels(const Schedule& schedule, const Refit& refit);

}  // namespace refit::detail
