#pragma once

#include <vector>

#include "planner/optimal/assignment.h"

namespace refit {

// By rank: which part of what it lacks and others own outside its island its own NIC has to bring,
// though it comes into the island some other way, too, since NVLink alone would take longer than
// the bound. 0 where NVLink is enough.
std::vector<double> own_nic_shares(const AssignmentInput& input, const PlanNetwork& network);

}  // namespace refit
