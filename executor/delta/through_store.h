#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "executor/delta/delta_rank.h"
#include "executor/delta/delta_seat.h"
#include "executor/delta/geometry.h"
#include "executor/object_store/object_store.h"

namespace refit {

// Collective: a version's payloads through an object store, instead of by the moves of the plan.
// Returns the chunks that this rank has asked the store for.
std::vector<std::size_t> through_store(ObjectStore& store, const DeltaGeometry& geometry,
                                       std::uint64_t base_version, std::uint64_t target_version,
                                       DeltaSeat& seat, DeltaRank& rank);

}  // namespace refit
