#pragma once

#include <string>

#include "executor/moves.h"
#include "models/refit.h"
#include "schedule/schedule.h"
#include "sim/flow_list.h"
#include "sim/prediction.h"
#include "topology/cluster.h"

namespace refit {

// What a plan moves as CSV tables, for spreadsheets: bytes in bytes, times in seconds of the
// prediction. `busy_s` is the time in which at least one op ran there; `utilisation` is what was
// carried of what the link could have carried, or of ranks and tensors the busy share of the whole.

// A row per rank: what it sends and receives, collectives as the messages that a run makes of them.
std::string rank_table(const Schedule& schedule, const Refit& refit, const Cluster& cluster,
                       const Moves& moves, const Prediction& prediction);

// A row per link of the cluster and direction, unused ones too.
std::string link_table(const FlowList& flows, const Cluster& cluster, const Prediction& prediction);

// A row per tensor class: content once, what travels of it in sum, and when. An op's bytes are
// divided by the content of its tensors.
std::string tensor_table(const Schedule& schedule, const Refit& refit, const Moves& moves,
                         const Prediction& prediction);

}  // namespace refit
