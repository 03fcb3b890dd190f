#pragma once

#include <string>

#include "models/refit.h"
#include "schedule/schedule.h"
#include "topology/cluster.h"

namespace refit {

// A plan of transfers as an algorithm of MSCCL: one collective of its own kind ("custom") over all
// ranks, in chunks of one size, the largest that divides every chunk of the plan. A rank's input
// buffer is what it owns, parcel behind parcel in the plan's order, its output what it must end up
// with, its scratch what it only passes on; input and output have the length of the longest. Sends
// and receives of a rank with one peer are a thread block each, in the order of the ops; a send
// waits for the receives of what it passes on. Rounds, work and barriers have no place in it.
//
// Error(bad_input) names the op that does not fit, or the limit of MSCCL's interpreter that the
// plan exceeds.
std::string msccl_algorithm(const Schedule& schedule, const Refit& refit, const Cluster& cluster,
                            const std::string& name);

}  // namespace refit
