#pragma once

#include <vector>

#include "planner/optimal/assignment.h"

namespace refit {

// Sets how many transfers each port behind a trunk has at a time, inside its pod and across the
// trunk. A trunk is shared by all flows alike, so their numbers are what divides it: in proportion
// to the bytes that each port has to move in `seconds`, which the whole is meant to take. `sends`:
// of the senders too, and not of receivers only.
void share_trunks(const std::vector<Content>& contents, const Assignment& assignment,
                  double seconds, bool sends, PlanNetwork& network);

}  // namespace refit
