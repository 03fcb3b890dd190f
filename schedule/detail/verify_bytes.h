#pragma once

#include "base/diagnostic.h"
#include "models/refit.h"
#include "schedule/schedule.h"

namespace refit::detail {

// Whether every op says the bytes that its chunks have, and every phase the bytes of the parcels
// that its ops move. Counted from the fragments. Adds to `findings` up to `most`.
void verify_bytes(const Schedule& schedule, const Refit& refit, std::size_t most,
                  Diagnostics& findings);

}  // namespace refit::detail
