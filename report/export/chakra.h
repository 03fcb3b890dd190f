#pragma once

#include <string>

#include "report/export/rank_events.h"
#include "schedule/schedule.h"

namespace refit {

// One rank's file of a Chakra execution trace (MLCommons, protobuf schema 0.0.4): metadata, then a
// node per event, each behind its length. ASTRA-sim reads PREFIX.RANK.et of every rank. Messages of
// no bytes, as barriers have, are written with one, since its networks refuse none.
std::string chakra_trace(const Schedule& schedule, const RankEvents& events, Rank rank);

}  // namespace refit
